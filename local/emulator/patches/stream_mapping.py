"""Event source mappings of DynamoDB streams as AWS documents them, in place of MiniStack 1.5.33's own.

MiniStack reads batches and filters them. It ignores `ReportBatchItemFailures`, so that what a function could not
process is gone; it never bisects; it retries for ever; and it has no S3 destination, the only one that keeps the whole
record. One batch of a mapping is in hand at a time, so `ParallelizationFactor` is not emulated.

`tests/emulator/test_stream_mapping.py` fails once MiniStack does this by itself.
"""

import threading
import time
from collections import deque
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .failed_batches import discard

# A stream is polled four times a second, or at once if there is more than a batch.
_POLL_SECONDS = 0.25
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


@dataclass(slots=True)
class Work:
    """What a mapping has read and not done yet, in order."""

    batches: deque[Batch] = field(default_factory=deque)
    next_poll: float = 0.0


_work: dict[str, Work] = {}


def apply() -> None:
    """Change the loaded MiniStack module."""
    from ministack.services import lambda_svc

    lambda_svc._poll_dynamodb_streams = poll


def poll() -> bool:
    """Give every mapping of a DynamoDB stream one turn. Returns whether one of them may have more to do at once."""
    from ministack.services import lambda_svc

    mappings = list(lambda_svc._iter_all_esms())
    for gone in _work.keys() - {mapping["UUID"] for _, _, mapping in mappings}:
        del _work[gone]
    turns = [_turn_in(account, region, mapping) for account, region, mapping in mappings]
    return any(turns)


def _turn_in(account: str, region: str, mapping: Mapping) -> bool:
    with _scope(account, region):
        function, table = _function(mapping), _table(mapping)
        return bool(function and table) and _turn(mapping, function, table)


@contextmanager
def _scope(account: str, region: str) -> Iterator[None]:
    from ministack.services import lambda_svc

    tokens = lambda_svc._request_account_id.set(account), lambda_svc._request_region.set(region)
    try:
        yield
    finally:
        lambda_svc._request_account_id.reset(tokens[0])
        lambda_svc._request_region.reset(tokens[1])


def _table(mapping: Mapping) -> str:
    """The name of the table whose stream the mapping reads; nothing if there is no such stream, or it is not to."""
    from ministack.services import dynamodb

    source = mapping.get("EventSourceArn", "")
    name = source.partition(":table/")[2].partition("/stream/")[0]
    table = dynamodb._tables.get(name) if ":dynamodb:" in source and mapping.get("Enabled", True) else None
    return name if table and table.get("LatestStreamArn") == source else ""


def _function(mapping: Mapping) -> Any:
    from ministack.services import lambda_svc

    record, _ = lambda_svc._get_func_record_for_qualifier(mapping["FunctionName"], mapping.get("Qualifier"))
    return record


def _turn(mapping: Mapping, function: Any, table: str) -> bool:
    work, now = _work.setdefault(mapping["UUID"], Work()), time.monotonic()
    if not work.batches and work.next_poll <= now:
        _read(work, mapping, table)
    if not work.batches:
        return False
    if work.batches[0].due > now:
        _wake_in(work.batches[0].due - now)
        return False
    left = _delivered(mapping, function, work.batches[0])
    work.batches.popleft()
    work.batches.extendleft(reversed(left))
    return True


def _read(work: Work, mapping: Mapping, table: str) -> None:
    from ministack.services import dynamodb, lambda_svc

    size = int(mapping.get("BatchSize", 100))
    with lambda_svc._dynamodb_stream_positions_lock:
        known = lambda_svc._dynamodb_stream_positions.get(mapping["UUID"])
        position = max(known or 0, dynamodb.stream_start_position(table))
        read = dynamodb.stream_records_since(table, position, size)
        lambda_svc._dynamodb_stream_positions[mapping["UUID"]] = position + len(read)
    if len(read) < size:
        work.next_poll = time.monotonic() + _POLL_SECONDS
        _wake_in(_POLL_SECONDS)
    wanted = lambda_svc._apply_filter_criteria(list(read), mapping)
    if wanted:
        work.batches.append(Batch(wanted))


def _wake_in(seconds: float) -> None:
    from ministack.core.concurrency import esm_wake

    timer = threading.Timer(seconds, esm_wake.set)
    timer.daemon = True
    timer.start()


def _delivered(mapping: Mapping, function: Any, batch: Batch) -> list[Batch]:
    """Invoke the function with a batch. Returns what is left to do, in order."""
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
    """The index of the first record that comes again, by what the function answered; None for none."""
    if "ReportBatchItemFailures" not in mapping.get("FunctionResponseTypes", []):
        return None
    failures = body.get("batchItemFailures") if isinstance(body, dict) else None
    if not failures:
        return None
    numbers = {record["dynamodb"]["SequenceNumber"]: index for index, record in enumerate(records)}
    # An identifier that is none fails the whole batch.
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
    """The batch without the records that are too old, which are discarded."""
    longest = int(mapping.get("MaximumRecordAgeInSeconds", -1))
    ages = [time.time() - record["dynamodb"]["ApproximateCreationDateTime"] for record in batch.records]
    # Records come in the order of their age.
    old = sum(age > longest for age in ages) if longest >= 0 else 0
    if old:
        discard(mapping, function, batch.records[:old], tries=batch.tries, condition="MaxRecordAgeExceeded")
    return batch.part(old)
