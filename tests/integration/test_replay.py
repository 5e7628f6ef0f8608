"""Replays by command, with crashes: each order is replayed once, and no concurrent write is lost."""

import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from botocore.config import Config
from typer.testing import CliRunner

from idempotency.codec import to_item
from stepwise.cli.app import app
from stepwise.cli.replay_command import deliverer
from stepwise.local.emulator import emulator
from stepwise.operations.replay.budget import Budget
from stepwise.operations.replay.checkpoint import Checkpoint, CheckpointMismatch
from stepwise.operations.replay.failed import FailedRecords
from stepwise.operations.replay.fire import Outcome, Trigger
from stepwise.operations.replay.kept import KEPT, REPLAYED
from stepwise.operations.replay.orders import Orders, Seen
from stepwise.operations.replay.run import Replay
from stepwise.operations.stack import Stack
from tests.kit.bounded import program
from tests.kit.day import Day, day, kept, mapping
from tests.kit.injection import THROTTLED, DynamoDBProxy, Resources, denied, eventually
from tests.kit.local_stack import Document

__all__ = ["day"]

type Command = Callable[..., Any]

SECONDS = 60


@pytest.fixture
def stepwise(stack_options: list[str]) -> Command:
    """The command line in this process, because its start takes longer than its work."""
    return lambda *arguments: CliRunner().invoke(app, [*arguments, *stack_options])


class Crash(BaseException):
    """A crash of the process, as the replay sees it."""


@dataclass
class Client:
    """A failing DynamoDB client. before, after: called with the number of each update."""

    real: Any
    before: Callable[[int], None] = lambda _: None
    after: Callable[[int], None] = lambda _: None
    updates: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def update_item(self, **parameters: Any) -> Any:
        with self.lock:
            number, self.updates = self.updates, self.updates + 1
        self.before(number)
        answer = self.real.update_item(**parameters)
        self.after(number)
        return answer


def once(stack: Stack, endpoint: str | None = None) -> Any:
    """A client without retries."""
    config = Config(retries={"total_max_attempts": 1}, read_timeout=60, max_pool_connections=16)
    return stack.session.client("dynamodb", endpoint_url=endpoint or stack.endpoint, config=config)


def trigger(stack: Stack, client: Any = None) -> Trigger:
    client = client or once(stack)
    return Trigger(client, stack.outputs["OrdersTable"], Budget(0), sleep=lambda _: None)


def replay(day: Day, client: Any = None, checkpoint: Path | None = None) -> Replay:
    """A replay of the orders of a day."""
    table = day.stack.outputs["OrdersTable"]
    orders = Orders(day.stack.dynamodb, table, Budget(0))
    kept_at = Checkpoint(checkpoint, {"date": day.name})
    return Replay(
        lambda after: orders.of_day(day.name, after), trigger(day.stack, client), kept_at, progress=lambda _: None
    )


@pytest.fixture
def orders(day: Day) -> list[Document]:
    """20 orders of the day."""
    rows = [day.order(f"{number:03d}") for number in range(20)]
    day.write(*rows)
    eventually(lambda: indexed(day) == 20, seconds=SECONDS)
    return rows


def indexed(day: Day) -> int:
    """The number of the day's orders in the index, which may lag behind."""
    pages = Orders(day.stack.dynamodb, day.stack.outputs["OrdersTable"], Budget(0)).of_day(day.name)
    return sum(len(page.orders) for page in pages)


def revisions(day: Day) -> list[int]:
    return [int(row["revision"]) for row in day.rows()]


# --- one order ---


def test_firing_an_order_only_raises_its_revision(day: Day, orders: list[Document]) -> None:
    order_id = orders[0]["order_id"]
    assert trigger(day.stack).fire(Seen(order_id, 1)) == Outcome.FIRED
    assert day.stack.row("OrdersTable", order_id=order_id) == {**orders[0], "revision": 2}


def test_concurrent_writer_is_not_overwritten(day: Day, orders: list[Document]) -> None:
    order_id = orders[0]["order_id"]

    def write(number: int) -> None:
        if number < 2:
            day.write({**orders[0], "status": f"Changed {number}", "revision": number + 2})

    assert trigger(day.stack, Client(once(day.stack), before=write)).fire(Seen(order_id, 1)) == Outcome.FIRED
    assert day.stack.row("OrdersTable", order_id=order_id) == {**orders[0], "status": "Changed 1", "revision": 4}


@pytest.mark.local_only("inject faults between the test and DynamoDB")
def test_lost_answer_fires_nothing_twice(day: Day, orders: list[Document]) -> None:
    with DynamoDBProxy(day.stack.endpoint or "", lose=1).serving() as proxy:
        outcome = trigger(day.stack, once(day.stack, proxy.endpoint)).fire(Seen(orders[0]["order_id"], 1))
    assert outcome == Outcome.MOVED_ON
    assert proxy.calls == ["UpdateItem 200", "UpdateItem 400"]
    assert sorted(revisions(day))[-1] == 2


@pytest.mark.local_only("inject faults between the test and DynamoDB")
def test_throttled_call_backs_off(day: Day, orders: list[Document]) -> None:
    with DynamoDBProxy(day.stack.endpoint or "", answers=[THROTTLED] * 5).serving() as proxy:
        outcome = trigger(day.stack, once(day.stack, proxy.endpoint)).fire(Seen(orders[0]["order_id"], 1))
    assert outcome == Outcome.FIRED


def test_replay_does_not_recreate_a_deleted_order(day: Day) -> None:
    order_id = day.order("never")["order_id"]
    assert trigger(day.stack).fire(Seen(order_id, 1)) == Outcome.GONE
    assert day.stack.row("OrdersTable", order_id=order_id) is None


def test_row_without_a_revision_is_left_alone(day: Day) -> None:
    assert trigger(day.stack).fire(Seen("any", None)) == Outcome.NO_REVISION


# --- crashes ---


@pytest.mark.parametrize("number", [0, 5, 19])
@pytest.mark.parametrize("when", ["before", "after"])
def test_crashed_replay_resumes_and_fires_each_order_once(
    day: Day, orders: list[Document], tmp_path: Path, when: str, number: int
) -> None:
    def crash(update: int) -> None:
        if update == number:
            raise Crash

    client = Client(once(day.stack), **{when: crash})
    with pytest.raises(Crash):
        replay(day, client, tmp_path / "checkpoint").run()
    counts = replay(day, checkpoint=tmp_path / "checkpoint").run()
    assert revisions(day) == [2] * len(orders)
    assert counts.total() == len(orders)
    assert replay(day, checkpoint=tmp_path / "checkpoint").run() == counts
    assert revisions(day) == [2] * len(orders)


def test_order_changed_after_the_crash_is_not_fired(day: Day, orders: list[Document], tmp_path: Path) -> None:
    def crash(_: int) -> None:
        raise Crash

    with pytest.raises(Crash):
        replay(day, Client(once(day.stack), before=crash), tmp_path / "checkpoint").run()
    day.write({**orders[3], "status": "Confirmed", "revision": 2})
    counts = replay(day, checkpoint=tmp_path / "checkpoint").run()
    assert counts == {Outcome.FIRED: len(orders) - 1, Outcome.MOVED_ON: 1}
    assert revisions(day) == [2] * len(orders)


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT], ids=["kill -9", "Ctrl-C"])
def test_interrupted_command_resumes_and_fires_each_order_once(
    running: emulator.Emulator, stepwise: Command, day: Day, tmp_path: Path, number: signal.Signals
) -> None:
    day.write(*(day.order(f"{order:03d}") for order in range(60)))
    eventually(lambda: indexed(day) == 60, seconds=SECONDS)
    checkpoint = tmp_path / "checkpoint"
    arguments = ("replay", "--date", day.name, "--checkpoint", str(checkpoint), "--rate", "3")
    with _started(running, *arguments) as process:
        eventually(lambda: 2 in revisions(day), seconds=SECONDS)
        process.send_signal(number)
        _, said = process.communicate(timeout=SECONDS)
    fired = revisions(day).count(2)
    assert 0 < fired < 60
    if number == signal.SIGINT:
        assert process.returncode == 130
        assert "resumes here" in said
    finished = stepwise(*arguments[:-2])
    assert finished.exit_code == 0, finished.stderr
    assert revisions(day) == [2] * 60
    eventually(day.counted, seconds=SECONDS)


def _started(running: emulator.Emulator, *arguments: str) -> AbstractContextManager[subprocess.Popen[str]]:
    return program(
        [str(emulator.ROOT / "stepwise"), *arguments],
        env={**os.environ, "STEPWISE_PORT": str(running.port)},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )


# --- the command ---


def test_order_is_replayed_by_its_id(stepwise: Command, day: Day, orders: list[Document]) -> None:
    ended = stepwise("replay", "--order-id", orders[7]["order_id"])
    assert ended.exit_code == 0, ended.stderr
    assert sorted(revisions(day)) == [1] * 19 + [2]


def test_day_is_replayed_by_the_index_and_a_dry_run_only_counts(stepwise: Command, day: Day) -> None:
    day.write(*(day.order(f"{number:03d}") for number in range(120)))
    eventually(lambda: indexed(day) == 120, seconds=SECONDS)
    dry = stepwise("replay", "--date", day.name, "--dry-run")
    assert "│ 120 " in dry.stdout
    assert revisions(day) == [1] * 120
    assert stepwise("replay", "--date", day.name).exit_code == 0
    assert revisions(day) == [2] * 120
    eventually(day.counted, seconds=SECONDS)
    assert stepwise("report", "--date", day.name).stdout.count("120,000 JPY") == 1


@pytest.mark.local_only("replay everybody's orders")
def test_all_orders_are_replayed(stepwise: Command, day: Day, orders: list[Document]) -> None:
    assert stepwise("replay", "--all").exit_code == 0
    assert revisions(day) == [2] * len(orders)


def test_checkpoint_belongs_to_one_replay(stepwise: Command, day: Day, tmp_path: Path) -> None:
    checkpoint = str(tmp_path / "checkpoint")
    assert stepwise("replay", "--date", day.name, "--checkpoint", checkpoint).exit_code == 0
    other = stepwise("replay", "--date", "2001-01-01", "--checkpoint", checkpoint)
    assert isinstance(other.exception, CheckpointMismatch)
    assert day.name in str(other.exception)


@pytest.mark.parametrize(
    "arguments",
    [[], ["--all", "--failed"], ["--date", "yesterday"], ["--failed", "--checkpoint", "x"]],
    ids=" ".join,
)
def test_invalid_replay_is_explained(stepwise: Command, arguments: list[str]) -> None:
    wrong = stepwise("replay", *arguments)
    assert wrong.exit_code == 2
    assert "Invalid value" in wrong.stderr


# --- failed records ---


@pytest.fixture
def no_retries(stack: Stack, resources: Resources) -> Iterator[None]:
    with mapping(stack, resources, MaximumRetryAttempts=0):
        yield


@pytest.fixture
def failed(day: Day, orders: list[Document], stack: Stack, resources: Resources, no_retries: None) -> list[Document]:
    """Orders with kept records, because the function was not allowed to count them."""
    eventually(day.counted, seconds=SECONDS)
    with denied(stack, resources, "ReportOrders"):
        day.write(
            {**orders[0], "status": "Confirmed", "revision": 2}, {**orders[1], "status": "Pending", "revision": 2}
        )
        eventually(lambda: all(kept(stack, order["order_id"]) for order in orders[:2]), seconds=SECONDS)
    return orders[:2]


def test_failed_records_are_replayed_and_leave_the_bucket(
    stepwise: Command, day: Day, stack: Stack, failed: list[Document]
) -> None:
    assert not day.counted()
    dry = stepwise("replay", "--failed", "--dry-run")
    assert dry.exit_code == 0, dry.stderr
    assert kept(stack, failed[0]["order_id"])
    ended = stepwise("replay", "--failed")
    assert ended.exit_code == 0, ended.stderr
    eventually(day.counted, seconds=SECONDS)
    assert not any(kept(stack, order["order_id"]) for order in failed)
    before = revisions(day)
    assert stepwise("replay", "--failed").exit_code == 0
    assert revisions(day) == before


def test_superseded_record_is_not_fired(stepwise: Command, day: Day, stack: Stack, failed: list[Document]) -> None:
    day.write({**failed[0], "status": "Pending", "revision": 3})
    ended = stepwise("replay", "--failed")
    assert "overtaken by a newer change" in ended.stdout
    row = stack.row("OrdersTable", order_id=failed[0]["order_id"])
    assert row is not None
    assert row["revision"] == 3
    eventually(day.counted, seconds=SECONDS)


def test_failed_deletion_is_delivered_unchanged(
    stepwise: Command, day: Day, orders: list[Document], stack: Stack, resources: Resources, no_retries: None
) -> None:
    eventually(day.counted, seconds=SECONDS)
    order_id, recreated = orders[0]["order_id"], orders[1]
    with denied(stack, resources, "ReportOrders"):
        for order in orders[:2]:
            key = to_item({"order_id": order["order_id"]})
            stack.dynamodb.delete_item(TableName=stack.outputs["OrdersTable"], Key=key)
        eventually(lambda: bool(kept(stack, order_id) and kept(stack, recreated["order_id"])), seconds=SECONDS)
    day.write({**recreated, "created_at": f"{day.name}T12:00:00+00:00", "total": 5})
    ended = stepwise("replay", "--failed")
    assert "delivered unchanged" in ended.stdout
    eventually(day.counted, seconds=SECONDS)
    assert kept(stack, order_id) == []


def test_uncountable_record_stays_until_fixed(stepwise: Command, day: Day, stack: Stack, no_retries: None) -> None:
    row = day.order("poison")
    order_id = row["order_id"]
    day.write({name: value for name, value in row.items() if name != "total"})
    eventually(lambda: len(kept(stack, order_id)) == 1, seconds=SECONDS)
    stuck = stepwise("replay", "--failed")
    assert stuck.exit_code == 1
    assert len(kept(stack, order_id)) == 1
    day.write({**row, "revision": 2})
    assert stepwise("replay", "--failed").exit_code == 0
    assert kept(stack, order_id) == []
    eventually(day.counted, seconds=SECONDS)


@pytest.mark.local_only("replay everybody's orders")
@pytest.mark.parametrize("body", [b"", b"[]", b'{"payload": "{}"}'], ids=repr)
def test_object_not_written_by_lambda_stays(stepwise: Command, stack: Stack, body: bytes) -> None:
    s3, foreign = stack.client("s3"), {"Bucket": stack.outputs["FailedRecordsBucket"], "Key": f"{KEPT}foreign"}
    s3.put_object(**foreign, Body=body)
    assert stepwise("replay", "--failed").exit_code == 1
    assert s3.get_object(**foreign)["Body"].read() == body
    s3.delete_object(**foreign)


@dataclass
class CrashingS3:
    """An S3 client that crashes a replay between copying a finished object and deleting it."""

    real: Any

    def __getattr__(self, name: str) -> Any:
        return getattr(self.real, name)

    def delete_object(self, **_: Any) -> None:
        raise Crash


def test_crash_before_an_object_is_moved_fires_nothing_twice(day: Day, stack: Stack, failed: list[Document]) -> None:
    s3, bucket = stack.client("s3"), stack.outputs["FailedRecordsBucket"]

    def run(client: Any) -> FailedRecords:
        return FailedRecords(stack.dynamodb, client, bucket, trigger(stack), deliverer(stack), progress=lambda _: None)

    with pytest.raises(Crash):
        run(CrashingS3(s3)).run(dry=False)
    counts = run(s3).run(dry=False)
    assert sorted(revisions(day))[-3:] == [1, 3, 3]
    assert counts[Outcome.OVERTAKEN] > 0
    listed = s3.list_objects_v2(Bucket=bucket, Prefix=f"{REPLAYED}{KEPT}")["Contents"]
    assert listed
    eventually(day.counted, seconds=SECONDS)
