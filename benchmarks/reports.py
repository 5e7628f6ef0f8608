"""Records per second into the reports, and replays with their memory use. Prints a table.

Usage: `python -m benchmarks.reports`.
"""

import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil

from idempotency.codec import to_item
from reporting.change import Record, read_change
from reporting.counting import Reports
from reporting.table import ReportsTable
from stepwise.cli import views
from stepwise.local.emulator import emulator
from stepwise.operations.stack import Stack
from tests.kit.injection import Resources

from .results import show, size
from .stacks import plain

RECORDS, SIZES = size(5_000, 50), size((10_000, 100_000), (50,))
_DAY = "2026-11-20"


class Counting:
    """A DynamoDB client that counts its transactions."""

    def __init__(self, client: Any) -> None:
        self._client = client
        self.calls = 0

    def transact_write_items(self, **parameters: Any) -> Any:
        self.calls += 1
        return self._client.transact_write_items(**parameters)

    def batch_get_item(self, **parameters: Any) -> Any:
        self.calls += 1
        return self._client.batch_get_item(**parameters)


def main() -> None:
    figures: list[list[str]] = []
    with plain() as on:
        figures += _applied(on.stack)
        figures += _through_the_stream(on.stack)
    for orders in SIZES:
        with plain() as on:
            figures += _replayed(on.stack, on.running.port, orders)
    show("benchmarks.reports", views.table("The reports, on the local stack", ["figure", "value"], figures))


def _applied(stack: Stack) -> list[list[str]]:
    """Measure the consumer's code alone, in this process: an order is placed and confirmed."""
    counting = Counting(stack.dynamodb)
    table = ReportsTable(stack.outputs["ReportsTable"], stack.outputs["IdempotencyTable"])
    reports = Reports(counting, table)
    records = [record for number in range(RECORDS // 2) for record in _placed_and_confirmed(number)]
    began = time.perf_counter()
    for record in records:
        reports.apply(read_change(record))
    seconds = time.perf_counter() - began
    return [
        ["records a second, the code alone", f"{len(records) / seconds:.0f}"],
        ["DynamoDB calls a record", f"{counting.calls / len(records):.2f}"],
    ]


def _through_the_stream(stack: Stack) -> list[list[str]]:
    with _mapping_off(stack):
        _write(stack, RECORDS, day="2026-11-19")
    began = time.perf_counter()
    while _orders_counted(stack, "2026-11-19") < RECORDS:
        time.sleep(0.1)
    return [["records a second, stream to counters", f"{RECORDS / (time.perf_counter() - began):.0f}"]]


def _replayed(stack: Stack, port: int, size: int) -> list[list[str]]:
    """Measure the replay command in a separate process, for its memory."""
    with _mapping_off(stack), tempfile.TemporaryDirectory() as folder:
        _write(stack, size, day=_DAY)
        began = time.perf_counter()
        memory = _peak("replay", "--all", "--rate", "0", "--port", str(port), "--checkpoint", str(Path(folder, "at")))
        seconds = time.perf_counter() - began
    return [
        [f"replay of {size:,}: items a second", f"{size / seconds:.0f}"],
        [f"replay of {size:,}: peak memory", f"{memory / 1024**2:.0f} MiB"],
    ]


def _peak(*arguments: str) -> int:
    """Run a command to its end. Returns its highest observed resident memory, in bytes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "stepwise.cli", *arguments], stdout=subprocess.DEVNULL, cwd=emulator.ROOT
    )
    # Not getrusage, whose maximum includes this process, from which the command is forked.
    watched, peak = psutil.Process(process.pid), 0
    while process.poll() is None:
        with suppress(psutil.NoSuchProcess):
            peak = max(peak, watched.memory_info().rss)
        time.sleep(0.1)
    if process.returncode:
        raise RuntimeError(f"{arguments}: ended with {process.returncode}")
    return peak


def _placed_and_confirmed(number: int) -> list[Record]:
    order_id = f"alone-{number:06d}"
    new = _order(order_id, "2026-11-18")
    confirmed = {**new, "status": {"S": "Confirmed"}, "revision": {"N": "2"}}
    keys = {"order_id": {"S": order_id}}
    return [
        {"eventID": f"{number}-1", "eventName": "INSERT", "dynamodb": {"Keys": keys, "NewImage": new}},
        {"eventID": f"{number}-2", "dynamodb": {"Keys": keys, "OldImage": new, "NewImage": confirmed}},
    ]


def _order(order_id: str, day: str) -> dict[str, Any]:
    return to_item(
        {
            "order_id": order_id,
            "customer_id": "c-7",
            "currency": "JPY",
            "items": [{"sku": "tea-01", "quantity": 1, "unit_price": 1500}],
            "total": 1500,
            "status": "New",
            "created_at": f"{day}T09:00:00+00:00",
            "created_ymd": day,
            "updated_at": f"{day}T09:00:00+00:00",
            "revision": 1,
        }
    )


def _write(stack: Stack, count: int, *, day: str) -> None:
    for start in range(0, count, 25):
        puts: Any = [
            {"PutRequest": {"Item": _order(f"{day}-{number:06d}", day)}}
            for number in range(start, min(start + 25, count))
        ]
        stack.dynamodb.batch_write_item(RequestItems={stack.outputs["OrdersTable"]: puts})


@contextmanager
def _mapping_off(stack: Stack) -> Iterator[None]:
    client, name = stack.client("lambda"), Resources(stack)["ReportOrdersFunction"]
    (mapping,) = client.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=False)
    yield
    client.update_event_source_mapping(UUID=mapping["UUID"], Enabled=True)


def _orders_counted(stack: Stack, day: str) -> int:
    return sum(int(row["orders"]) for row in stack.rows("ReportsTable") if row["day"] == day)


if __name__ == "__main__":
    main()
