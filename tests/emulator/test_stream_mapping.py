"""Event source mappings of DynamoDB streams: what MiniStack lacks, the patch `stream_mapping` has."""

import json
import time
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

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
RETRIES = 2
SECONDS = 60


@dataclass(frozen=True)
class Stream:
    """A table with a stream, a function that notes what it gets, and a bucket for what it fails at."""

    account: Account
    table: str
    arn: str
    function: Function
    bucket: str
    notes: Path

    def write(self, *names: str) -> None:
        """One insert each, in this order."""
        for name in names:
            self.account.client("dynamodb").put_item(TableName=self.table, Item={"pk": {"S": name}})

    def map(self, **settings: Any) -> None:
        """Let the function read the stream from its beginning: what is written already comes as one batch."""
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
        """The invocation records in the bucket."""
        s3 = self.account.client("s3")
        objects = s3.list_objects_v2(Bucket=self.bucket).get("Contents", [])
        return [json.loads(s3.get_object(Bucket=self.bucket, Key=one["Key"])["Body"].read()) for one in objects]

    def kept_names(self) -> list[str]:
        events = [json.loads(record["payload"]) for record in self.kept()]
        return [record["dynamodb"]["Keys"]["pk"]["S"] for event in events for record in event["Records"]]


def stream(account: Account, tmp_path: Path) -> Stream:
    name, notes = f"t-{uuid.uuid4().hex[:12]}", tmp_path / "notes"
    table = account.client("dynamodb").create_table(
        TableName=name,
        KeySchema=[{"AttributeName": "pk", "KeyType": "HASH"}],
        AttributeDefinitions=[{"AttributeName": "pk", "AttributeType": "S"}],
        BillingMode="PAY_PER_REQUEST",
        StreamSpecification={"StreamEnabled": True, "StreamViewType": "NEW_AND_OLD_IMAGES"},
    )["TableDescription"]
    account.client("s3").create_bucket(Bucket=name)
    function = account.function(NOTE.replace("{notes}", str(notes)))
    return Stream(account, name, table["LatestStreamArn"], function, name, notes)


@pytest.fixture
def mapped(ours: Account, tmp_path: Path) -> Stream:
    return stream(ours, tmp_path)


# --- MiniStack as it comes ---


def test_ministack_still_forgets_what_a_function_reports_as_failed(upstream: Account, tmp_path: Path) -> None:
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
    stock.map()
    eventually(lambda: len(stock.calls) > RETRIES + 1, seconds=SECONDS)
    assert {tuple(call) for call in stock.calls} == {("a", "raise")}, still_there(
        "stream_mapping", "BisectBatchOnFunctionError"
    )


# --- ours ---


@pytest.mark.parametrize("place", [0, 2, 4], ids=["first", "in the middle", "last"])
@pytest.mark.parametrize("poison", ["poison", "raise"], ids=["reported", "raised"])
def test_a_poison_record_is_kept_whole_and_alone(mapped: Stream, poison: str, place: int) -> None:
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


def test_what_was_done_before_the_first_failure_does_not_come_again(mapped: Stream) -> None:
    mapped.write("a", "b", "poison", "c")
    mapped.map()
    eventually(lambda: mapped.kept_names() == ["poison"] and "c" in mapped.seen, seconds=SECONDS)
    assert [call for call in mapped.calls if "a" in call] == [["a", "b", "poison", "c"]]
    assert mapped.calls[1] == ["poison", "c"]


def test_the_lowest_of_several_failures_is_the_checkpoint(mapped: Stream) -> None:
    mapped.write("a", "poison-1", "b", "poison-2", "c")
    mapped.map()
    eventually(lambda: mapped.kept_names() == ["poison-1", "poison-2"], seconds=SECONDS)
    assert mapped.calls[1] == ["poison-1", "b", "poison-2", "c"]


def test_what_comes_after_a_failure_comes_again(mapped: Stream) -> None:
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


def test_an_answer_that_names_no_record_fails_the_whole_batch(mapped: Stream) -> None:
    mapped.write("a", "nonsense")
    mapped.map(BisectBatchOnFunctionError=False)
    eventually(lambda: mapped.kept_names() == ["a", "nonsense"], seconds=SECONDS)
    assert mapped.calls == [["a", "nonsense"]] * (RETRIES + 1)


def test_without_the_response_type_the_answer_is_not_read(mapped: Stream) -> None:
    mapped.write("a", "poison")
    mapped.map(FunctionResponseTypes=[])
    mapped.write("b")
    eventually(lambda: "b" in mapped.seen, seconds=SECONDS)
    assert mapped.kept() == []


def test_a_throttle_consumes_no_retry(mapped: Stream) -> None:
    mapped.function.throttle()
    mapped.write("a")
    mapped.map(MaximumRetryAttempts=0)
    time.sleep(2)
    assert mapped.calls == []
    mapped.function.release()
    eventually(lambda: mapped.calls == [["a"]], seconds=SECONDS)
    assert mapped.kept() == []


def test_a_record_that_has_grown_too_old_is_kept(mapped: Stream) -> None:
    mapped.function.throttle()
    mapped.write("a")
    mapped.map(MaximumRecordAgeInSeconds=1)
    eventually(lambda: mapped.kept_names() == ["a"], seconds=SECONDS)
    assert mapped.calls == []
