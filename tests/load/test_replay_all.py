"""A replay of all orders while new ones arrive and sagas run. The counters equal a recount, and no saga fails."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from typer.testing import CliRunner

from idempotency.codec import to_item
from stepwise.cli.app import app
from stepwise.local.emulator import emulator
from stepwise.operations import orders, stock
from stepwise.operations.stack import Stack
from tests.kit import bounded
from tests.kit.bounded import Threads
from tests.kit.consistency import reports_are_exact
from tests.kit.injection import eventually
from tests.kit.local_stack import Document
from tests.kit.orders import good_order

# `make replay-test` replays 10,000.
ORDERS = int(os.environ.get("ORDERS", "1000"))
SAGAS = 20
DAYS = ["2031-05-01", "2031-05-02", "2031-05-03"]
SECONDS = 120 + ORDERS / 20


def _row(number: int) -> Document:
    day = DAYS[number % len(DAYS)]
    return {
        "order_id": f"old-{number:06d}",
        "currency": ("JPY", "EUR")[number % 2],
        "total": number,
        "status": ("New", "Confirmed", "Pending")[number % 5 % 3],
        "created_at": f"{day}T09:00:00+00:00",
        "created_ymd": day,
        "revision": 1 + number % 3,
    }


def _write(stack: Stack, rows: list[Document]) -> None:
    table: Any = stack.outputs["OrdersTable"]
    for start in range(0, len(rows), 25):
        puts: Any = [{"PutRequest": {"Item": to_item(row)}} for row in rows[start : start + 25]]
        stack.dynamodb.batch_write_item(RequestItems={table: puts})


@contextmanager
def _orders_arriving(stack: Stack, sku: str) -> Iterator[list[str]]:
    """Place orders one after the other, and run their sagas, until the block ends."""
    placed: list[str] = []
    over = threading.Event()

    def place() -> None:
        while not over.wait(0.5) and len(placed) < SAGAS:
            order_id = f"{sku}-{len(placed)}"
            item = {"sku": sku, "quantity": 1, "unit_price": 700}
            orders.place(stack, good_order(order_id, items=[item]))
            placed.append(order_id)

    thread = threading.Thread(target=place, daemon=True)
    thread.start()
    try:
        yield placed
    finally:
        over.set()
        thread.join(bounded.SECONDS)


def test_replay_of_all_orders_while_new_ones_arrive(stack: Stack, running: emulator.Emulator, sku: str) -> None:
    scarce = f"{sku}-scarce"
    stock.seed(stack, {scarce: SAGAS // 2})
    _write(stack, [_row(number) for number in range(ORDERS)])
    before = {row["order_id"]: int(row["revision"]) for row in stack.rows("OrdersTable")}
    with _orders_arriving(stack, scarce) as placed:
        ended = CliRunner().invoke(app, ["replay", "--all", "--rate", "0", "--port", str(running.port)])
    assert ended.exit_code == 0, ended.output
    with Threads(4) as pool:
        statuses = list(pool.map(lambda order_id: orders.ended(stack, order_id, seconds=120).status, placed))
    assert len(placed) > 0
    assert set(statuses) <= {"SUCCEEDED", "FAILED"}
    assert statuses.count("SUCCEEDED") == min(len(placed), SAGAS // 2)
    eventually(lambda: _finalized(stack, placed) and reports_are_exact(stack), seconds=SECONDS, every=0.5)
    after = {row["order_id"]: int(row["revision"]) for row in stack.rows("OrdersTable")}
    assert {after[order_id] - revision for order_id, revision in before.items() if "old-" in order_id} == {1}


def _finalized(stack: Stack, order_ids: list[str]) -> bool:
    statuses = {row["order_id"]: row["status"] for row in stack.rows("OrdersTable")}
    return all(statuses.get(order_id) != "New" for order_id in order_ids)
