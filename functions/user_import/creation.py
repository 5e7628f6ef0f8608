"""UserCreate: creates the user of one row, once."""

import hashlib
from dataclasses import dataclass
from datetime import datetime, timedelta

from idempotency import NEVER_HAPPENED, Happened, LeaseStore, Resolution, Unknown, Work
from runtime.objects import BucketUnavailable

from .bucket import Bucket, Source
from .connect import Connect, FoundUser
from .csv_file import parse_row
from .errors import (
    ConnectError,
    ConnectThrottled,
    ConnectUnavailable,
    RoutingProfileUnknown,
    SecurityProfileNotAllowed,
    SecurityProfileUnknown,
    UserExists,
    UsernameRepeated,
    UserNotVisible,
)
from .requests import RowTask
from .results import PASSWORD_NOT_SET, Outcome
from .user import ProfileIds, ProfileNames, User

ROW_TAG = "stepwise-import-row"

# No error is final: after somebody raises a quota or deletes a user, the row can run again. A rejection has no effect.
CREATE_USER = Work("UserCreate", Unknown.RESOLVE, final=(), harmless=(ConnectError, ConnectThrottled))
# A crashed owner's lease expires when its invocation would have timed out. A retry waits for that, but no longer.
_MIN_TIME_AFTER_WAITING = timedelta(seconds=5)


@dataclass(frozen=True, slots=True)
class Creation:
    """security_profiles: names that a row may use, besides the default."""

    bucket: Bucket
    connect: Connect
    leases: LeaseStore
    defaults: ProfileNames
    security_profiles: frozenset[str] = frozenset()

    def run(self, task: RowTask, deadline: datetime) -> Outcome:
        """Create the user of a row, or find the one that the row created. Safe to repeat.

        deadline: when the invocation ends, aware UTC.
        Raises InvalidRow, ConnectError, NoImportFile, and every TransientError: a retry may succeed.
        """
        user = self._user(task)
        if user.profiles.security not in {self.defaults.security, *self.security_profiles}:
            raise SecurityProfileNotAllowed
        _require_profiles(user, task.profiles)
        if task.validate_only or task.instance_id is None or task.profiles is None:
            return Outcome(task.row)
        creation = _Row(
            self.connect, task.instance_id, user, task.profiles, user.fingerprint(task.origin), _version(task.source)
        )
        created = self.leases.run(
            CREATE_USER,
            f"{task.import_id}/{task.row}",
            [task.source.key, task.source.version_id, str(task.pointer), task.instance_id],
            lambda _: creation.create(),
            deadline=deadline,
            wait=max(deadline - self.leases.clock() - _MIN_TIME_AFTER_WAITING, timedelta(0)),
            resolve=creation.resolve,
        )
        return Outcome.parse(f"{task.row}:{created}")

    def _user(self, task: RowTask) -> User:
        row = task.pointer
        data = self.bucket.part(task.source, row.offset, row.length)
        if len(data) != row.length:
            raise BucketUnavailable(f"S3 gave {len(data)} of {row.length} bytes")
        user = User.from_row(parse_row(data, task.columns, task.encoding), self.defaults)
        if row.repeats:
            raise UsernameRepeated(f"row {row.repeats} has it already")
        return user


@dataclass(frozen=True, slots=True)
class _Row:
    """Tags a user with the fingerprint of its row, which excludes the password, and with the version of the file.

    Results are the user's id, or the `ending` of an Outcome.
    """

    connect: Connect
    instance_id: str
    user: User
    profiles: ProfileIds
    fingerprint: str
    version: str

    def create(self) -> str:
        """After a lost answer, look the user up at once, and again in the next attempt."""
        try:
            tags = {ROW_TAG: f"{self.fingerprint}.{self.version}"}
            return self.connect.create_user(self.instance_id, self.user, self.profiles, tags)
        except UserExists:
            found = self._found()
            if found is None:
                raise UserNotVisible("Connect says that the user exists but does not list it yet") from None
            return self._own(found)
        except ConnectUnavailable as lost:
            found = self._found_after(lost)
            if found is None:
                raise
            return self._own(found)

    def resolve(self) -> Resolution[str]:
        """The outcome of an attempt whose answer was lost."""
        found = self._found()
        # SearchUsers may not show the user yet. CreateUser then says that the username is taken.
        return Happened(self._own(found)) if found else NEVER_HAPPENED

    def _found_after(self, lost: ConnectUnavailable) -> FoundUser | None:
        """If the lookup is throttled or rejected, the outcome of the create before it stays unknown."""
        try:
            return self._found()
        except CREATE_USER.harmless:
            raise lost from None

    def _found(self) -> FoundUser | None:
        return self.connect.find_user(self.instance_id, self.user.username)

    def _own(self, found: FoundUser) -> str:
        fingerprint, _, version = found.tags.get(ROW_TAG, "").partition(".")
        if fingerprint != self.fingerprint:
            raise UserExists("another row, or a person, created the user of this name")
        if version != self.version:
            return Outcome(0, PASSWORD_NOT_SET, found.id).ending
        return found.id


def _require_profiles(user: User, profiles: ProfileIds | None) -> None:
    if profiles is None:
        return
    if user.profiles.security not in profiles.security:
        raise SecurityProfileUnknown
    if user.profiles.routing not in profiles.routing:
        raise RoutingProfileUnknown


def _version(source: Source) -> str:
    """A hash, because a version id may be longer than a tag. It does not depend on the file's content."""
    return hashlib.sha256(source.version_id.encode()).hexdigest()[:16]
