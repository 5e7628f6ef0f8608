"""Event source mappings of DynamoDB streams: features missing in MiniStack that the patch `stream_mapping` adds."""

import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stepwise.local.emulator.patches import stream_mapping
from tests.kit.injection import eventually
from tests.kit.ministack import Account, Function, still_there

pytestmark = pytest.mark.local_only("are about the local stack itself")

NOTE = """
import json

def handler(event, context):
    names = [record["dynamodb"]["Keys"]["pk"]["S"] for record in event["Records"]]
    with open("{notes}", "a") as notes:
        notes.write(json.dumps(names) + "\\n")
    if any(name.startswith("raise") for name in names):
        raise ValueError("raised")
    numbers = {name: record["dynamodb"]["SequenceNumber"] for name, record in zip(names, event["Records"])}
    failed = [numbers[name] for name in names if name.startswith("poison")]
    failed += ["no number" for name in names if name.startswith("nonsense")]
    return {"batchItemFailures": [{"itemIdentifier": number} for number in failed]}
"""
TAKE_A_WHILE = """
import json
import time

def handler(event, context):
    images = [record["dynamodb"]["NewImage"] for record in event["Records"]]
    names = [image["pk"]["S"] + image.get("version", {}).get("N", "") for image in images]
    note("begun", names)
    time.sleep(SECONDS)
    note("ended", names)

def note(what, names):
    with open("{notes}", "a") as notes:
        notes.write(json.dumps([what, *names]) + "\\n")
"""
# The first call ends once another has started.
MEET = (
    TAKE_A_WHILE.replace("time.sleep(SECONDS)", "meet()")
    + """
def meet():
    deadline = time.monotonic() + 50
    while open("{notes}").read().count("begun") < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
"""
)
RETRIES = 2
SECONDS = 120


@dataclass(frozen=True)
class Stream:
    """A table with a stream, a function that records its batches, and a bucket for its failures."""

    account: Account
    table: str
    arn: str
    function: Function
    bucket: str
    notes: Path

    def write(self, *names: str) -> None:
        """Insert these items one by one, in this order."""
        for name in names:
            self.account.client("dynamodb").put_item(TableName=self.table, Item={"pk": {"S": name}})

    def map(self, **settings: Any) -> None:
        """Let the function read the stream from its beginning: existing records arrive as one batch."""
        usual = {
            "BatchSize": 10,
            "MaximumRetryAttempts": RETRIES,
            "BisectBatchOnFunctionError": True,
            "FunctionResponseTypes": ["ReportBatchItemFailures"],
            "DestinationConfig": {"OnFailure": {"Destination": f"arn:aws:s3:::{self.bucket}"}},
        }
        self.account.client("lambda").create_event_source_mapping(
            EventSourceArn=self.arn,
            FunctionName=self.function.name,
            StartingPosition="TRIM_HORIZON",
            **(usual | settings),
        )

    @property
    def calls(self) -> list[list[str]]:
        """The batches that the function got."""
        return [json.loads(line) for line in self.notes.read_text().splitlines()] if self.notes.exists() else []

    @property
    def seen(self) -> set[str]:
        return {name for call in self.calls for name in call}

    def kept(self) -> list[dict[str, Any]]:
        """The invocation records in the bucket, in order; their keys are only precise to the second."""
        s3 = self.account.client("s3")
        objects = s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        bodies = [s3.get_object(Bucket=self.bucket, Key=one["Key"])["Body"].read() for one in objects]
        return sorted(map(json.loads, bodies), key=lambda record: str(record["timestamp"]))

    def kept_names(self) -> list[str]:
        events = [json.loads(record["payload"]) for record in self.kept()]
        return [record["dynamodb"]["Keys"]["pk"]["S"] for event in events for record in event["Records"]]


def stream(account: Account, tmp_path: Path, source: str = NOTE) -> Stream:
    name = f"t-{uuid.uuid4().hex[:12]}"
    notes = tmp_path / name
    table = account.client("dynamodb").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )["TableDescription"]
    account.client("s3").create_bucket(Bucket=name)
    function = account.function(source.replace("{notes}", str(notes)))
    return Stream(account, name, table["LatestStreamArn"], function, name, notes)


@pytest.fixture
def mapped(ours: Account, tmp_path: Path) -> Stream:
    return stream(ours, tmp_path)


# --- MiniStack as it comes ---


def test_ministack_still_ignores_batch_item_failures(upstream: Account, tmp_path: Path) -> None:
    stock = stream(upstream, tmp_path)
    stock.write("a", "poison", "b")
    stock.map()
    eventually(lambda: bool(stock.calls), seconds=SECONDS)
    time.sleep(2)
    assert stock.calls == [["a", "poison", "b"]], still_there("stream_mapping", "ReportBatchItemFailures")
    assert stock.kept() == [], still_there("stream_mapping", "an S3 bucket as failure destination")


def test_ministack_still_neither_bisects_nor_gives_up(upstream: Account, tmp_path: Path) -> None:
    stock = stream(upstream, tmp_path)
    stock.write("a", "raise")
    stock.map(MaximumRetryAttempts=0)
    eventually(lambda: len(stock.calls) > 1, seconds=SECONDS)
    assert {tuple(call) for call in stock.calls} == {("a", "raise")}, still_there(
        "stream_mapping", "BisectBatchOnFunctionError"
    )


def waits_for_the_other(account: Account, tmp_path: Path, seconds: int) -> bool:
    """True if a record waits for the function of another table's mapping to end. seconds: duration of that function."""
    slow = stream(account, tmp_path, TAKE_A_WHILE.replace("SECONDS", str(seconds)))
    quick = stream(account, tmp_path)
    slow.write("a")
    quick.write("b")
    slow.map()
    eventually(lambda: slow.calls == [["begun", "a"]], seconds=SECONDS)
    quick.map()
    eventually(lambda: quick.calls == [["b"]], seconds=SECONDS)
    return ["ended", "a"] in slow.calls


def test_ministack_still_blocks_a_mapping_on_another_ones_function(upstream: Account, tmp_path: Path) -> None:
    assert waits_for_the_other(upstream, tmp_path, 3), still_there("stream_mapping", "a thread for each mapping")


# --- ours ---


def test_mapping_does_not_wait_for_another_ones_function(ours: Account, tmp_path: Path) -> None:
    assert not waits_for_the_other(ours, tmp_path, 50)


# "You can specify the number of concurrent batches that Lambda polls from a shard via a parallelization factor from 1
# (default) to 10. [...] When you increase the number of concurrent batches per shard, Lambda still ensures in-order
# processing at the item (partition and sort key) level." (Lambda developer guide, with-ddb)
@pytest.mark.parametrize(("factor", "parallel"), [(None, False), (1, False), (2, True)])
def test_parallelization_factor_keeps_the_order_of_each_item(
    ours: Account, tmp_path: Path, factor: int | None, parallel: bool
) -> None:
    stock = stream(ours, tmp_path, MEET if parallel else TAKE_A_WHILE.replace("SECONDS", "0.1"))
    for version in "12":
        for name in "abcd":
            item = {"pk": {"S": name}, "version": {"N": version}}
            ours.client("dynamodb").put_item(TableName=stock.table, Item=item)
    stock.map(BatchSize=1, **({"ParallelizationFactor": factor} if factor else {}))
    eventually(lambda: len(stock.calls) == 16, seconds=SECONDS)

    kinds = [kind for kind, _ in stock.calls]
    begun = [name for kind, name in stock.calls if kind == "begun"]
    assert (kinds != ["begun", "ended"] * 8) == parallel
    assert [begun.index(f"{name}1") < begun.index(f"{name}2") for name in "abcd"] == [True] * 4


# "Your filters are logically ORed together. If a record from your event source satisfies one or more of your filters,
# Lambda includes the record in the next event it sends to your function. If none of your filters are satisfied, Lambda
# discards the record." (Lambda developer guide, invocation-eventfiltering)
def test_one_poll_skips_all_filtered_records(monkeypatch: pytest.MonkeyPatch) -> None:
    from ministack.services import dynamodb

    records = [{"dynamodb": {"Keys": {"pk": {"S": f"{number}"}}}} for number in range(1_000)]
    monkeypatch.setattr(dynamodb, "stream_start_position", lambda _: 0)
    monkeypatch.setattr(dynamodb, "stream_records_since", lambda _, start, count: records[start : start + count])
    filters = [{"Pattern": json.dumps({"dynamodb": {"Keys": {"pk": {"S": [name]}}}})} for name in ("7", "990", "998")]
    worker = stream_mapping.Worker("account", "region", "mapping", 0, 0, 1)

    stream_mapping._read(worker, {"BatchSize": 2, "FilterCriteria": {"Filters": filters}}, "table")

    assert [list(batch.records) for batch in worker.batches] == [[records[7], records[990]], [records[998]]]
    assert worker.position == 1_000


@pytest.mark.parametrize("place", [0, 2, 4], ids=["first", "in the middle", "last"])
@pytest.mark.parametrize("poison", ["poison", "raise"], ids=["reported", "raised"])
def test_poison_record_is_kept_in_full_and_alone(mapped: Stream, poison: str, place: int) -> None:
    names = ["a", "b", "c", "d"]
    names.insert(place, poison)
    mapped.write(*names)
    mapped.map()
    eventually(lambda: mapped.kept_names() == [poison] and mapped.seen == set(names), seconds=SECONDS)
    assert mapped.calls.count([poison]) == RETRIES + 1
    (record,) = mapped.kept()
    assert record["requestContext"]["condition"] == "RetryAttemptsExhausted"
    assert record["requestContext"]["functionArn"] == mapped.function.arn
    assert record["DDBStreamBatchInfo"]["batchSize"] == 1
    (key,) = [
        one["Key"] for one in mapped.account.client("s3").list_objects_v2(Bucket=mapped.bucket).get("Contents", [])
    ]
    assert key.startswith("aws/lambda/")


def test_records_before_the_first_failure_are_not_redelivered(mapped: Stream) -> None:
    mapped.write("a", "b", "poison", "c")
    mapped.map()
    eventually(lambda: mapped.kept_names() == ["poison"] and "c" in mapped.seen, seconds=SECONDS)
    assert [call for call in mapped.calls if "a" in call] == [["a", "b", "poison", "c"]]
    assert mapped.calls[1] == ["poison", "c"]


def test_lowest_of_several_failures_is_the_checkpoint(mapped: Stream) -> None:
    mapped.write("a", "poison-1", "b", "poison-2", "c")
    mapped.map()
    eventually(lambda: mapped.kept_names() == ["poison-1", "poison-2"], seconds=SECONDS)
    assert mapped.calls[1] == ["poison-1", "b", "poison-2", "c"]


def test_records_after_a_failure_are_redelivered(mapped: Stream) -> None:
    mapped.write("poison", "c")
    mapped.map()
    eventually(lambda: mapped.kept_names() == ["poison"] and mapped.calls[-1] == ["c"], seconds=SECONDS)


def test_records_keep_their_order(mapped: Stream) -> None:
    mapped.write("a", "poison", "b")
    mapped.map()
    mapped.write("c", "d")
    eventually(lambda: mapped.kept_names() == ["poison"] and "d" in mapped.calls[-1], seconds=SECONDS)
    last = {name: index for index, name in enumerate(name for call in mapped.calls for name in call)}
    assert sorted("abcd", key=lambda name: last[name]) == ["a", "b", "c", "d"]


def test_response_that_names_no_record_fails_the_whole_batch(mapped: Stream) -> None:
    mapped.write("a", "nonsense")
    mapped.map(BisectBatchOnFunctionError=False)
    eventually(lambda: mapped.kept_names() == ["a", "nonsense"], seconds=SECONDS)
    assert mapped.calls == [["a", "nonsense"]] * (RETRIES + 1)


def test_without_report_batch_item_failures_the_response_is_ignored(mapped: Stream) -> None:
    mapped.write("a", "poison")
    mapped.map(FunctionResponseTypes=[])
    mapped.write("b")
    eventually(lambda: "b" in mapped.seen, seconds=SECONDS)
    assert mapped.kept() == []


def test_throttle_consumes_no_retry(mapped: Stream) -> None:
    mapped.function.throttle()
    mapped.write("a")
    mapped.map(MaximumRetryAttempts=0)
    time.sleep(2)
    assert mapped.calls == []
    mapped.function.release()
    eventually(lambda: mapped.calls == [["a"]], seconds=SECONDS)
    assert mapped.kept() == []


def test_expired_record_is_kept(mapped: Stream) -> None:
    mapped.function.throttle()
    mapped.write("a")
    mapped.map(MaximumRecordAgeInSeconds=1)
    eventually(lambda: mapped.kept_names() == ["a"], seconds=SECONDS)
    assert mapped.calls == []
