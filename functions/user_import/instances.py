"""The Connect instance of an import: found or created, waited for, and, on request, deleted."""

import hashlib
import re
import uuid
from collections.abc import Sequence
from dataclasses import dataclass

from .connect import ACTIVE, CREATION_FAILED, Connect, Instance
from .errors import (
    ConnectRefused,
    InstanceAliasInUse,
    InstanceAliasInvalid,
    InstanceCreationFailed,
    InstanceNotFound,
    InstanceNotReady,
    InvalidImport,
)
from .user import ProfileNames

STACK_TAG = "stepwise-stack"

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "stepwise/connect-instances")
_MAX_CHECKS = 60
_ALIAS, _MAX_ALIAS = re.compile(r"(?!d-)[0-9a-zA-Z]+(?:-*[0-9a-zA-Z])*\Z"), 45


def default_alias(stack: str, stack_id: str) -> str:
    """An alias that is unique on AWS and does not expose the account id."""
    return f"{stack[:32]}-{hashlib.sha256(stack_id.encode()).hexdigest()[:12]}"


@dataclass(frozen=True, slots=True)
class AllowedInstances:
    """The instances that an input may name. ids: `*` for any. Empty for the stack's own instance alone."""

    ids: tuple[str, ...] = ()

    @classmethod
    def parse(cls, arns: str) -> "AllowedInstances":
        """From comma-separated ARNs; `instance/*` at the end of one means any."""
        return cls(tuple(arn.strip().rpartition("/")[2] for arn in arns.split(",") if arn.strip()))

    def chosen(self, named: str | None) -> str | None:
        """The id of the instance to use; None for the stack's own. Raises InvalidImport."""
        if "*" in self.ids or named in self.ids:
            return named
        if named is None:
            return next(iter(self.ids), None)
        raise InvalidImport("instance_id: this stack may not use it; add its ARN to the parameter ConnectInstanceArns")


@dataclass(frozen=True, slots=True)
class Instances:
    """stack: whose tag marks the instances that this stack may delete. alias: of the one that it creates."""

    connect: Connect
    stack: str
    alias: str
    allowed: AllowedInstances = AllowedInstances()
    may_reset: bool = False

    def delete_own(self) -> list[str]:
        """Start to delete every instance with this stack's tag, and no other. Returns their ids."""
        own = [instance.id for instance in self._described() if self._is_own(instance)]
        for instance_id in own:
            self.connect.delete_instance(instance_id)
        return own

    def ensure(self, import_id: str, deleted: Sequence[str] = ()) -> str:
        """The id of the stack's instance, creating it if it does not exist. Safe to repeat.

        deleted: ids of deleted instances, which Connect may still list.
        Raises InstanceAliasInvalid, InstanceAliasInUse, InstanceQuotaExceeded.
        """
        self._require_alias()
        standing = self._standing(deleted)
        if standing:
            return standing.id
        token = str(uuid.uuid5(_NAMESPACE, f"{self.stack}/{import_id}"))
        try:
            return self.connect.create_instance(self.alias, token=token, tags={STACK_TAG: self.stack})
        except ConnectRefused:
            # Another import may have created it since.
            if created := self._standing(deleted):
                return created.id
            raise InstanceAliasInUse(
                f"Connect rejects the alias {self.alias}: another or a failed instance has it, or it is still "
                "being freed; wait, start with reset, or give the stack another ConnectInstanceAlias"
            ) from None

    def _require_alias(self) -> None:
        if len(self.alias) > _MAX_ALIAS or not _ALIAS.match(self.alias):
            raise InstanceAliasInvalid(
                f"{self.alias}: an alias has at most {_MAX_ALIAS} letters, digits and hyphens and does not start "
                "with d-; give the stack a ConnectInstanceAlias that fits"
            )

    def chosen(self, named: str | None) -> str | None:
        """The id of the instance to use; None for the stack's own. Raises InvalidImport if it does not exist."""
        instance_id = self.allowed.chosen(named)
        if instance_id:
            self._require(instance_id)
        return instance_id

    def _require(self, instance_id: str) -> None:
        try:
            self.connect.instance(instance_id)
        except (InstanceNotFound, ConnectRefused):
            raise InvalidImport("instance_id: this account has no such instance in this Region") from None

    def require_reset(self) -> None:
        """Raises InvalidImport unless instances may be deleted."""
        if not self.may_reset:
            raise InvalidImport(
                "reset: this stack deletes no instance; deploy it with AllowReset=true, or leave reset out"
            )

    def ready(self, instance_id: str, defaults: ProfileNames, checks: int) -> Instance | None:
        """The instance, once it is active and has the default profiles, which appear later; None until then.

        checks: number of checks, including this one.
        Raises InstanceCreationFailed, InstanceNotReady (after the last check).
        """
        try:
            instance = self.connect.instance(instance_id)
            if instance.status == CREATION_FAILED:
                raise InstanceCreationFailed(
                    "Connect failed to create the instance; see its console. Start with reset, which needs AllowReset"
                )
            if instance.status == ACTIVE and self.connect.profiles(instance_id).have(defaults):
                return instance
            missing = "not active yet" if instance.status != ACTIVE else "without the default profiles"
        except InstanceNotFound:
            missing = "not to be found"
        if checks >= _MAX_CHECKS:
            raise InstanceNotReady(f"after {checks} checks the instance is {missing}; see it in the console of Connect")
        return None

    def _standing(self, deleted: Sequence[str]) -> Instance | None:
        """The stack's own instance, unless its creation failed or it is being deleted."""
        named = (one for one in self.connect.instances() if one.alias == self.alias and one.id not in deleted)
        found = (one for one in named if one.status != CREATION_FAILED)
        return next((one for one in map(self._with_tags, found) if one and self._is_own(one)), None)

    def _described(self) -> list[Instance]:
        described = (self._with_tags(instance) for instance in self.connect.instances())
        return [instance for instance in described if instance]

    def _with_tags(self, instance: Instance) -> Instance | None:
        try:
            return self.connect.instance(instance.id)
        except InstanceNotFound:
            return None

    def _is_own(self, instance: Instance) -> bool:
        return instance.tags.get(STACK_TAG) == self.stack
