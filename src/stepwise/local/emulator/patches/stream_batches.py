"""One batch of a stream: the call of the function, and the work left after it, as AWS documents it."""

import json
import time
import uuid
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

_FIRST_PAUSE, _MAX_PAUSE = 0.1, 1.0

type Mapping = dict[str, Any]
type Record = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Batch:
    """Records that go to the function together. due: when, by the monotonic clock."""

    records: Sequence[Record]
    tries: int = 0
    due: float = 0.0

    def part(self, start: int, end: int | None = None) -> "Batch":
        return Batch(self.records[start:end], self.tries)


def delivered(mapping: Mapping, function: Any, batch: Batch) -> list[Batch]:
    """Invoke the function with a batch. Returns the remaining batches, in order."""
    from ministack.services import lambda_svc

    fresh = _fresh(mapping, function, batch)
    if not fresh.records:
        return []
    result = lambda_svc._execute_function(function, {"Records": list(fresh.records)})
    if result.get("throttle"):
        return [_later(fresh, fresh.tries)]
    failed = 0 if result.get("error") else _lowest_failure(mapping, fresh.records, result.get("body"))
    mapping["LastProcessingResult"] = "OK" if failed is None else "PROBLEM: Function call failed"
    return [] if failed is None else _left(mapping, function, fresh, failed)


def _lowest_failure(mapping: Mapping, records: Sequence[Record], body: Any) -> int | None:
    """Return the index of the first record to redeliver, by the function's response; None for none."""
    if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []):
        return None
    failures = body.get("batchItemFailures") if isinstance(body, dict) else None
    if not failures:
        return None
    numbers = {record["dynamodb"]["SequenceNumber"]: index for index, record in enumerate(records)}
    # An invalid identifier fails the whole batch.
    return min(numbers.get(failure.get("itemIdentifier"), 0) for failure in failures)


def _left(mapping: Mapping, function: Any, batch: Batch, failed: int) -> list[Batch]:
    rest = batch.part(failed)
    if mapping.get("BisectBatchOnFunctionError") and len(batch.records) > 1:
        # Splitting consumes no retry: at the failure, or in the middle if it is the first.
        half = len(rest.records) // 2
        return [rest] if failed or not half else [rest.part(0, half), rest.part(half)]
    most = int(mapping.get("MaximumRetryAttempts", -1))
    if 0 <= most <= rest.tries:
        discard(mapping, function, rest.records, tries=rest.tries + 1, condition="RetryAttemptsExhausted")
        return []
    return [_later(rest, rest.tries + 1)]


def _later(batch: Batch, tries: int) -> Batch:
    pause = min(_FIRST_PAUSE * 2**tries, _MAX_PAUSE)
    return Batch(batch.records, tries, time.monotonic() + pause)


def _fresh(mapping: Mapping, function: Any, batch: Batch) -> Batch:
    """Return the batch without records that are too old, which are discarded."""
    longest = int(mapping.get("MaximumRecordAgeInSeconds", -1))
    ages = [time.time() - record["dynamodb"]["ApproximateCreationDateTime"] for record in batch.records]
    # Records come in the order of their age.
    old = sum(age > longest for age in ages) if longest >= 0 else 0
    if old:
        discard(mapping, function, batch.records[:old], tries=batch.tries, condition="MaxRecordAgeExceeded")
    return batch.part(old)


SHARD = "shardId-00000000000000000000-00000000"


def discard(mapping: dict[str, Any], function: Any, records: Sequence[Any], *, tries: int, condition: str) -> None:
    """Write records to the mapping's failure destination, if it has one. tries: how often the function got them.

    MiniStack supports only destinations that get a pointer.
    """
    from ministack.services import lambda_svc, s3

    destination = mapping.get("DestinationConfig", {}).get("OnFailure", {}).get("Destination", "")
    if not destination.startswith("arn:aws:s3:::"):
        source = mapping["EventSourceArn"]
        lambda_svc._send_ddb_stream_failure_record(mapping, function, records, source, {}, condition)
        return
    at = datetime.now(UTC)
    record = _invocation_record(mapping, records, tries, condition, at)
    key = f"aws/lambda/{mapping['UUID']}/{SHARD}/{at:%Y/%m/%d/%Y-%m-%dT%H.%M.%S}-{uuid.uuid4()}"
    s3._put_object(destination.rpartition(":")[2], key, json.dumps(record).encode(), {})


def _invocation_record(
    mapping: dict[str, Any], records: Sequence[Any], tries: int, condition: str, at: datetime
) -> dict[str, Any]:
    ends = [record["dynamodb"] for record in (records[0], records[-1])]
    arrived = [datetime.fromtimestamp(end["ApproximateCreationDateTime"], UTC) for end in ends]
    return {
        "requestContext": {
            "requestId": str(uuid.uuid4()),
            "functionArn": mapping["FunctionArn"],
            "condition": condition,
            "approximateInvokeCount": tries,
        },
        "responseContext": {"statusCode": 200, "executedVersion": "$LATEST", "functionError": "Unhandled"},
        "version": "1.0",
        "timestamp": f"{at:%Y-%m-%dT%H:%M:%S.%fZ}",
        "DDBStreamBatchInfo": {
            "shardId": SHARD,
            "startSequenceNumber": ends[0]["SequenceNumber"],
            "endSequenceNumber": ends[1]["SequenceNumber"],
            "approximateArrivalOfFirstRecord": f"{arrived[0]:%Y-%m-%dT%H:%M:%SZ}",
            "approximateArrivalOfLastRecord": f"{arrived[1]:%Y-%m-%dT%H:%M:%SZ}",
            "batchSize": len(records),
            "streamArn": mapping["EventSourceArn"],
        },
        "payload": json.dumps({"Records": list(records)}),
    }
