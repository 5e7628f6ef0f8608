"""UserCreate on Connect's simulator, with its lease: the invariant is one user for each row, and the row's own id."""

from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from idempotency import IdempotencyError, LeaseOperations, LeaseStore, Status
from tests.kit.connect_simulator import Connect as Simulator
from tests.unit import dynamodb
from tests.unit.user_import.import_world import DEFAULTS, KEY
from user_import.bucket import Bucket, Source
from user_import.connect import Backoff, Connect
from user_import.creation import CREATE_USER, ROW_TAG, Creation
from user_import.csv_file import REQUIRED_COLUMNS, RowPointer
from user_import.errors import ConnectDenied, ConnectUnavailable
from user_import.requests import RowTask
from user_import.results import PASSWORD_NOT_SET, Outcome

# Faults that leave CreateUser's outcome unknown, and faults that then keep SearchUsers from finding it.
UNSURE: dict[str, dict[str, Any]] = {
    "answer lost": {"lose": "answer"},
    "request lost": {"lose": "request"},
    "failed": {"code": "InternalServiceException"},
}


@dataclass
class Import:
    """One import of one-row files. Each attempt is a separate invocation, with its own clock."""

    simulator: Simulator
    bucket: Bucket
    instance_id: str
    import_id: str = "import-1"
    waited: float = 0.0
    clock: dynamodb.Clock = field(default_factory=dynamodb.Clock)
    table: str = field(default_factory=lambda: dynamodb.new_table(dynamodb.client()))

    def upload(self, **cells: str) -> Source:
        """A version of the file with one row and no header."""
        row = {"username": "taro", "default_password": "Passw0rd", "first_name": "Taro", "last_name": "Yamada"} | cells
        return self.bucket.put(KEY, ",".join(["1", *row.values()]).encode(), {})

    def create(self, source: Source) -> Outcome:
        backoff = Backoff(3.0, clock=lambda: self.waited, sleep=self.wait, jitter=lambda: 1.0)
        connect = Connect(self.simulator.client, backoff)
        leases = LeaseStore(dynamodb.client(), self.table, clock=self.clock, sleep=self.clock.sleep)
        size = self.bucket.client.head_object(Bucket="users", Key=KEY, VersionId=source.version_id)["ContentLength"]
        task = RowTask(
            self.import_id,
            source,
            KEY,
            REQUIRED_COLUMNS,
            RowPointer(1, 0, size),
            self.instance_id,
            connect.profiles(self.instance_id),
            validate_only=False,
        )
        self.waited = 0.0
        return Creation(self.bucket, connect, leases, DEFAULTS).run(task, self.clock() + timedelta(seconds=30))

    def wait(self, seconds: float) -> None:
        self.waited += seconds

    @property
    def status(self) -> Status:
        """The status of the row's lease."""
        operations = LeaseOperations(dynamodb.client(), self.table, clock=self.clock)
        (record,) = operations.find(f"{self.import_id}/1", [CREATE_USER.name])
        return record.status

    @property
    def users(self) -> list[str]:
        """Ids of all users of the instance."""
        found = self.simulator.client.list_users(InstanceId=self.instance_id)["UserSummaryList"]
        return [user["Id"] for user in found]


@pytest.fixture
def one(connect: Simulator, bucket: Bucket) -> Import:
    return Import(connect, bucket, connect.instance())


def test_missing_permission_keeps_an_unknown_outcome(one: Import) -> None:
    source = one.upload()
    one.simulator.control.lose_answer("CreateUser")
    one.simulator.control.fail("SearchUsers", "AccessDeniedException", status=403, times=2)

    with pytest.raises(ConnectUnavailable):
        one.create(source)
    with pytest.raises(ConnectDenied):
        one.create(source)


@pytest.mark.parametrize("code", ["ThrottlingException", "AccessDeniedException", "LimitExceededException"])
def test_refused_create_frees_the_row(one: Import, code: str) -> None:
    source = one.upload()
    one.simulator.control.fail("CreateUser", code, status=429, times=50)

    with pytest.raises(IdempotencyError):
        one.create(source)
    assert one.status is Status.RELEASED


@pytest.mark.parametrize("lost", [False, True])
def test_row_says_when_its_password_was_not_set(one: Import, lost: bool) -> None:
    first = one.create(one.upload())
    again = replace(one, import_id="import-2")
    source = again.upload(default_password="An0ther-one")
    if lost:
        one.simulator.control.lose_request("CreateUser")

    assert again.create(source) == Outcome(1, PASSWORD_NOT_SET, first.user_id)
    # This includes a duplicate, which gets the lease's result.
    assert again.create(source) == Outcome(1, PASSWORD_NOT_SET, first.user_id)
    assert again.status is Status.COMPLETED


@pytest.mark.parametrize("fault", UNSURE)
def test_first_password_is_reported_as_set(one: Import, fault: str) -> None:
    """An answer is lost, and another import of the same version of the file retries."""
    source = one.upload()
    one.simulator.control.fault("CreateUser", **UNSURE[fault])
    outcomes = []
    for import_id in ("import-1", "import-1", "import-2"):
        try:
            outcomes.append(replace(one, import_id=import_id).create(source))
        except ConnectUnavailable:
            continue

    assert set(outcomes) == {Outcome(1, user_id=one.users[0])}


def test_user_of_an_earlier_release_is_recognized_by_its_fingerprint(one: Import) -> None:
    first = one.create(one.upload())
    user = one.simulator.client.describe_user(InstanceId=one.instance_id, UserId=first.user_id)["User"]
    one.simulator.client.tag_resource(resourceArn=user["Arn"], tags={ROW_TAG: user["Tags"][ROW_TAG].partition(".")[0]})

    assert replace(one, import_id="import-2").create(one.upload()).user_id == first.user_id
