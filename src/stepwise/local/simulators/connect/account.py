"""An account's instances with their profiles and users. Callers hold the account's lock."""

import base64
import itertools
import threading
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Final

from .errors import invalid_request, not_found
from .settings import Settings

type Document = dict[str, Any]

REGION: Final = "us-east-1"
ACCOUNT_ID: Final = "000000000000"

SECURITY_PROFILES = ("Admin", "Agent", "CallCenterManager", "QualityAnalyst")
ROUTING_PROFILES = ("Basic Routing Profile",)


@dataclass(kw_only=True)
class Resource:
    """A resource. number: increases with each resource of an account, for the order of lists.

    created_at: epoch seconds.
    attributes: the parameters of its creation.
    """

    number: int
    id: str
    arn: str
    created_at: float
    attributes: Document
    tags: dict[str, str]

    @property
    def created(self) -> datetime:
        return datetime.fromtimestamp(self.created_at, UTC)


@dataclass(kw_only=True)
class Instance(Resource):
    """An instance. finalized_at: when it becomes ACTIVE or CREATION_FAILED. gone_at: when its deletion ends."""

    finalized_at: float
    profiles_at: float
    listed_until: float = float("inf")
    fails: bool = False
    gone_at: float = float("inf")
    security_profiles: list[Resource] = field(default_factory=list)
    routing_profiles: list[Resource] = field(default_factory=list)
    users: dict[str, Resource] = field(default_factory=dict)
    usernames: dict[str, str] = field(default_factory=dict)

    def status(self, now: float) -> str:
        if now < self.finalized_at:
            return "CREATION_IN_PROGRESS"
        return "CREATION_FAILED" if self.fails else "ACTIVE"

    def is_listed(self, now: float) -> bool:
        return now < min(self.gone_at, self.listed_until)


class Account:
    """An account. now: epoch seconds. changes: when instances were created or deleted.

    creations: by ClientToken, the parameters and the instance of CreateInstance. creation_fails: whether the creation
    by the current call will fail.
    """

    def __init__(self, settings: Settings, now: Callable[[], float]) -> None:
        self.lock = threading.Lock()
        self.settings = settings
        self.now = now
        self.changes: list[float] = []
        self.creations: dict[str, tuple[Document, Instance]] = {}
        self.creation_fails = False
        self._instances: dict[str, Instance] = {}
        self._numbers = itertools.count(1)

    def instances(self) -> list[Instance]:
        """Return the listed instances, oldest first."""
        now = self.now()
        return [instance for instance in self._instances.values() if instance.is_listed(now)]

    def instance(self, instance_id: str) -> Instance:
        """Return an instance. Raises ConnectError."""
        instance = self._instances.get(instance_id)
        if instance is None or not instance.is_listed(self.now()):
            raise not_found(f"the instance {instance_id}")
        return instance

    def active_instance(self, instance_id: str) -> Instance:
        """Return an instance that has users and profiles. Raises ConnectError."""
        instance = self.instance(instance_id)
        if instance.status(self.now()) != "ACTIVE":
            raise not_found(f"the instance {instance_id}, which is not active,")
        return instance

    def identity(self, arn_prefix: str) -> Document:
        """Return the fields of a new Resource that do not depend on its kind."""
        identifier = str(uuid.uuid4())
        arn = f"{arn_prefix}/{identifier}"
        return {"number": next(self._numbers), "id": identifier, "arn": arn, "created_at": self.now()}

    def add(self, attributes: Document, tags: dict[str, str]) -> Instance:
        """Begin the creation of an instance."""
        identity = self.identity(f"arn:aws:connect:{REGION}:{ACCOUNT_ID}:instance")
        finalized_at = identity["created_at"] + self.settings.activation_seconds
        profiles_at = finalized_at + self.settings.profiles_seconds
        instance = Instance(
            **identity, attributes=attributes, tags=tags, finalized_at=finalized_at, profiles_at=profiles_at
        )
        instance.security_profiles = self._profiles(f"{instance.arn}/security-profile", SECURITY_PROFILES)
        instance.routing_profiles = self._profiles(f"{instance.arn}/routing-profile", ROUTING_PROFILES)
        self._instances[instance.id] = instance
        return instance

    def _profiles(self, arn_prefix: str, names: tuple[str, ...]) -> list[Resource]:
        return [Resource(**self.identity(arn_prefix), attributes={"Name": name}, tags={}) for name in names]


def page[R: Resource](resources: Sequence[R], parameters: Document, *, size: int) -> tuple[list[R], Document]:
    """Return a page of resources, and the NextToken if there are more. size: if MaxResults is not given.

    A page starts after the last resource of the previous one, even if resources came or went.
    Raises ConnectError for an unknown token.
    """
    after = _number(parameters["NextToken"]) if "NextToken" in parameters else 0
    rest = [resource for resource in resources if resource.number > after]
    some = rest[: parameters.get("MaxResults", size)]
    return some, {"NextToken": _token(some[-1].number)} if len(some) < len(rest) else {}


def _token(number: int) -> str:
    return base64.b64encode(f"after {number}".encode()).decode()


def _number(token: str) -> int:
    try:
        word, number = base64.b64decode(token, validate=True).decode().split()
        if word == "after":
            return int(number)
    except ValueError:
        pass
    raise invalid_request("the NextToken is not one of this list")
