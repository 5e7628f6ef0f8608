"""Event source mappings of DynamoDB streams as AWS documents them, in place of MiniStack 1.5.33's own.

MiniStack reads batches and filters them. It ignores `ReportBatchItemFailures`, so that records that a function could
not process are lost; it never bisects; it retries forever; and it has no S3 destination, the only one that keeps the
whole record. One thread serves all its mappings, so each waits for the functions of the others.

Here each mapping has a worker for each of the concurrent batches of its `ParallelizationFactor`. An emulated stream has
one shard. A factor that changes later has no effect.

`tests/emulator/test_stream_mapping.py` fails once MiniStack does this by itself.
"""

import json
import logging
import threading
import time
import zlib
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .stream_batches import Batch, Mapping, Record, delivered

# A stream is polled four times a second, or at once if a poll has returned a full page.
_POLL_SECONDS = 0.25
_MAX_POLLED = 1_000
_AFTER_ERROR_SECONDS = 1.0

_log = logging.getLogger("stream-mapping")


@dataclass(slots=True)
class Worker:
    """Records that one worker of a mapping has read and not processed, in order.

    All records of a key go to one worker.
    """

    account: str
    region: str
    mapping: str
    position: int
    number: int
    workers: int
    batches: deque[Batch] = field(default_factory=deque)
    next_poll: float = 0.0
    woken: threading.Event = field(default_factory=threading.Event)
    ended: bool = False

    def has(self, record: Record) -> bool:
        if self.workers == 1:
            return True
        keys = json.dumps(record["dynamodb"]["Keys"], sort_keys=True)
        return zlib.crc32(keys.encode()) % self.workers == self.number


_workers: dict[str, list[Worker]] = {}


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import lambda_svc

    lambda_svc._poll_dynamodb_streams = poll


def poll() -> bool:
    """Make sure that every mapping of a DynamoDB stream has its workers, and wake them.

    Returns that nothing is left to do.
    """
    from ministack.services import lambda_svc

    found = {mapping["UUID"]: (account, region, mapping) for account, region, mapping in lambda_svc._iter_all_esms()}
    for name, (account, region, mapping) in found.items():
        if name not in _workers and ":dynamodb:" in mapping.get("EventSourceArn", ""):
            _workers[name] = _started(account, region, mapping)
    for gone in _workers.keys() - found.keys():
        for worker in _workers.pop(gone):
            worker.ended = True
            worker.woken.set()
    for worker in [worker for several in _workers.values() for worker in several]:
        worker.woken.set()
    return False


def _started(account: str, region: str, mapping: Mapping) -> list[Worker]:
    from ministack.services import lambda_svc

    factor = int(mapping.get("ParallelizationFactor") or 1)
    position = lambda_svc._dynamodb_stream_positions.get_scoped(account, region, mapping["UUID"]) or 0
    workers = [Worker(account, region, mapping["UUID"], position, number, factor) for number in range(factor)]
    for worker in workers:
        threading.Thread(target=_work, args=(worker,), name="stream-mapping", daemon=True).start()
    return workers


def _work(worker: Worker) -> None:
    while not worker.ended:
        worker.woken.clear()
        with _scope(worker.account, worker.region):
            pause = _safe_turn(worker)
        if pause != 0:
            worker.woken.wait(pause)


@contextmanager
def _scope(account: str, region: str) -> Iterator[None]:
    from ministack.services import lambda_svc

    tokens = lambda_svc._request_account_id.set(account), lambda_svc._request_region.set(region)
    try:
        yield
    finally:
        lambda_svc._request_account_id.reset(tokens[0])
        lambda_svc._request_region.reset(tokens[1])


def _safe_turn(worker: Worker) -> float | None:
    try:
        return _turn(worker)
    except Exception:
        _log.exception("mapping %s", worker.mapping)
        return _AFTER_ERROR_SECONDS


def _turn(worker: Worker) -> float | None:
    """Read, or deliver a batch. Returns the seconds until there may be more to do; None: until the worker is woken."""
    from ministack.services import lambda_svc

    mapping = lambda_svc._esms.get(worker.mapping)
    function, table = (_function(mapping), _table(mapping)) if mapping else (None, "")
    if not (function and table):
        return None
    if not worker.batches:
        return _read(worker, mapping, table)
    pause = worker.batches[0].due - time.monotonic()
    if pause > 0:
        return pause
    left = delivered(mapping, function, worker.batches[0])
    worker.batches.popleft()
    worker.batches.extendleft(reversed(left))
    return 0


def _table(mapping: Mapping) -> str:
    """Return the table whose stream the mapping reads; empty if there is no such stream, or the mapping is disabled."""
    from ministack.services import dynamodb

    source = mapping["EventSourceArn"]
    name = source.partition(":table/")[2].partition("/stream/")[0]
    table = dynamodb._tables.get(name) if mapping.get("Enabled", True) else None
    return name if table and table.get("LatestStreamArn") == source else ""


def _function(mapping: Mapping) -> Any:
    from ministack.services import lambda_svc

    record, _ = lambda_svc._get_func_record_for_qualifier(mapping["FunctionName"], mapping.get("Qualifier"))
    return record


def _read(worker: Worker, mapping: Mapping, table: str) -> float | None:
    """Skip records of other workers and unwanted ones, and queue the rest in batches."""
    from ministack.services import dynamodb, lambda_svc

    pause = worker.next_poll - time.monotonic()
    if pause > 0:
        return pause
    position = max(worker.position, dynamodb.stream_start_position(table))
    found = dynamodb.stream_records_since(table, position, _MAX_POLLED)
    worker.position = position + len(found)
    wanted = lambda_svc._apply_filter_criteria([record for record in found if worker.has(record)], mapping)
    size = int(mapping.get("BatchSize", 100))
    worker.batches.extend(Batch(wanted[start : start + size]) for start in range(0, len(wanted), size))
    if len(found) < _MAX_POLLED:
        worker.next_poll = time.monotonic() + _POLL_SECONDS
    return 0 if found else None
