"""One run of a schedule: uploads, other importers, persons in Connect, operators."""

import json
from dataclasses import dataclass, field
from typing import Any

from tests.faults.users import schedule as s
from tests.faults.users.connect import Made
from tests.faults.users.executing import Executing
from tests.faults.users.judge import Import
from tests.faults.users.plan import BY_HAND, DEFAULT_PROFILE, UPLOADED, File, newer
from tests.kit.deployed_stack import ACCOUNT, REGION

_OTHER = "TestFile_20261123.csv"
_REDRIVABLE = {"FAILED", "ABORTED", "TIMED_OUT"}
_OF_RETRIES = {"InvalidResultFile", "InvalidImport", "NoImportFile"}
_OF_RESETS = {"ConnectRefused", "InstanceAliasInUse", "InstanceNotFound", "InstanceNotReady"}


@dataclass
class Run(Executing):
    """A run; hooks of the engine at each seam.

    files: by key and version. latest: by key. removed: whether any was removed.
    was_reset: whether an import with `reset` was started.
    """

    files: dict[tuple[str, str], File] = field(default_factory=dict)
    latest: dict[str, File] = field(default_factory=dict)
    removed: bool = False
    was_reset: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.key = UPLOADED if self.plan.uploaded else BY_HAND
        self.given = "" if self.plan.own_instance else self._given_instance()
        self.variables = {"CONNECT_INSTANCE_ARNS": self.given, "ALLOW_RESET": "true"}

    def _given_instance(self) -> str:
        """Return the ARN of an existing instance."""
        parameters = {"IdentityManagementType": "CONNECT_MANAGED", "InstanceAlias": "given"}
        self.outside.answer("CreateInstance", parameters)
        instance = self.outside.account.instances()[0]
        instance.finalized_at = instance.profiles_at = instance.created_at
        return instance.arn

    # Imports

    def first(self) -> None:
        """Provide the first version of the file, and begin its import, perhaps twice."""
        for _ in range(self.plan.taken):
            self.person()
        version = self.upload(self.key, self.plan.first)
        if not self.plan.uploaded:
            self.start(version, **({"validate_only": True} if self.plan.validate_only else {}))
        if self.plan.twice:
            self._tell_of(self.key, version) if self.plan.uploaded else self.start(version)

    def upload(self, key: str, file: File) -> str:
        """Upload a file. Returns its version."""
        version = self.engine.put(key, file.data)
        self.files[key, version] = self.latest[key] = file
        if key != BY_HAND:
            self._tell_of(key, version)
        return version

    def _tell_of(self, key: str, version: str) -> None:
        """Send the bucket's event of an upload."""
        detail = {"bucket": {"name": self.engine.bucket}, "object": {"key": key, "version-id": version}}
        event = {"DetailType": "Object Created", "Source": "aws.s3", "Detail": json.dumps(detail), "Resources": []}
        self.tell("StartUserImport", str(len(self.files)), {**event, "Account": ACCOUNT, "Region": REGION})

    def start(self, version: str = "", key: str = "", **more: Any) -> None:
        """Start an import by hand."""
        self.counts["by hand"] += 1
        named = {"key": key or self.key, "version_id": version} if version else {}
        self.engine.start_by_hand(f"by-hand-{self.counts['by hand']}", json.dumps({**named, **more}))

    def newer(self) -> None:
        """Upload a newer version of the file, and import it."""
        version = self.upload(self.key, newer(self.later, self.latest.get(self.key, self.plan.first)))
        if not self.plan.uploaded:
            self.start(version)

    def again(self) -> None:
        """Import the same version under another name."""
        if versions := [version for key, version in self.files if key == self.key]:
            self.start(versions[-1])

    def other(self) -> None:
        """Import the same users from another file."""
        self.upload(_OTHER, self.latest.get(self.key, self.plan.first))

    def newest(self) -> None:
        self.start()

    def reset(self) -> None:
        """Import with `reset`, only if the import creates its own instance."""
        self.was_reset = True
        self.start(reset=True)

    # Others.

    def person(self) -> None:
        """Create a user in Connect, as a person, with a name in the file."""
        account = self.outside.account
        for instance in account.instances():
            if instance.status(account.now()) == "ACTIVE" and account.now() >= instance.profiles_at:
                profile = next(
                    one.id for one in instance.security_profiles if one.attributes["Name"] == DEFAULT_PROFILE
                )
                user = {
                    "InstanceId": instance.id,
                    "Username": self.later.choice(self.plan.first.rows).username,
                    "Password": "Passw0rd-of-a-person",
                    "IdentityInfo": {"FirstName": "Hanako", "LastName": "Person"},
                    "PhoneConfig": {"PhoneType": "SOFT_PHONE"},
                    "SecurityProfileIds": [profile],
                    "RoutingProfileId": instance.routing_profiles[0].id,
                }
                self.outside.answer("CreateUser", user)

    def delete(self) -> None:
        """Delete a user in Connect, as a person."""
        for instance in self.outside.account.instances():
            if instance.users:
                user_id = self.later.choice(list(instance.users))
                self.outside.answer("DeleteUser", {"InstanceId": instance.id, "UserId": user_id})

    def remove(self) -> None:
        self.removed = True
        self.engine.remove(self.key)

    def redrive(self) -> None:
        """Redrive an execution, as an operator: preferably one that was cut off, not one that failed by itself."""
        found = [one for one in self.judge.imports.values() if one.status in _REDRIVABLE]
        cut_off = [one for one in found if one.status != "FAILED" or one.error == "States.Runtime"]
        if found:
            self.engine.redrive(self.later.choice(cut_off or found).name)

    def retry(self) -> None:
        """Retry the failed rows of a result, perhaps of a newer version."""
        if keys := [key for key in self.engine.stored() if "UserCreateResult_" in key and self.engine.current(key)]:
            version, retry_of = "", self.later.choice(keys)
            if self.later.random() < 0.5 and self.key == BY_HAND:
                version = self.upload(self.key, newer(self.later, self.latest.get(self.key, self.plan.first)))
            self.start(version, retry_of=retry_of, **({"validate_only": True} if "_validate_only" in retry_of else {}))

    def sweep(self) -> None:
        """Do nothing: user imports have no sweep."""

    def meanwhile(self, kind: str) -> None:
        works = {
            s.UPLOAD_AT: self.newer,
            s.AGAIN_AT: self.again,
            s.PERSON_AT: self.person,
            s.DELETED_AT: self.delete,
            s.REMOVED_AT: self.remove,
        }
        if work := works.get(kind):
            self.spawn(work, bare=True)

    # Possible outcomes

    def reasons(self, one: Import) -> set[str]:
        """Return the errors with which an import may end without a fault."""
        reasons = _OF_RESETS if self.was_reset else set()
        reasons = reasons | one.file.refusals | self.plan.first.refusals
        if one.asked.get("retry_of"):
            reasons = reasons | _OF_RETRIES
        return reasons | ({"NoImportFile"} if self.removed or not one.asked.get("version_id") else set())

    def standing(self, username: str) -> Made | None:
        """Return the user who has this name now."""
        for instance in self.outside.account.instances():
            if username in instance.usernames:
                return self.outside.made[instance.usernames[username]]
        return None
