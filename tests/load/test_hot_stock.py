"""A sale with AWS's conflicts and quotas switched on: every piece is sold, once, and no order is lost."""

import os
import random
import time
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
from botocore.exceptions import ClientError

from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.operations import orders, sharding, stock
from stepwise.operations.stack import Stack
from tests.kit.bounded import Threads
from tests.kit.consistency import broken_invariants
from tests.kit.injection import eventually
from tests.kit.local_stack import Document
from tests.kit.orders import good_order

# `make stock-test` places five times as many, 50 at once, and starts a burst of 600.
BUYERS, AT_ONCE = int(os.environ.get("BUYERS", "60")), int(os.environ.get("AT_ONCE", "20"))
BURST = int(os.environ.get("BURST", "40"))
SCALE = 1 / 50
# Sizes of the token buckets, and their refill a second (src/stepwise/local/emulator/patches/limits.py).
STARTS, TRANSITIONS = (1_300 * SCALE, 300 * SCALE), (5_000 * SCALE, 1_500 * SCALE)
# ProcessOrder, ProcessPayment, ReserveInventory, sns:NotifySuccess, OrderSucceeded.
TRANSITIONS_OF_AN_ORDER = 5
TIMED = 600


@pytest.fixture(scope="module")
def sale() -> Iterator[Stack]:
    """A stack with AWS's conflicts, and a fiftieth of its quotas."""
    with emulator.attached({"STEPWISE_LIMITS": "1", "STEPWISE_LIMIT_RATE_SCALE": str(SCALE)}) as running:
        deploy(running.endpoint, running.log)
        yield Stack.local(running.endpoint, services=running.simulators)


def _order(order_id: str, sku: str) -> Document:
    return good_order(order_id, items=[{"sku": sku, "quantity": 1, "unit_price": 100}])


def _all_finalized(stack: Stack, sku: str) -> bool:
    rows = [row for row in stack.rows("OrdersTable") if row["items"][0]["sku"] == sku]
    return len(rows) == BUYERS and all(row["status"] != "New" for row in rows)


def test_burst_waits_for_the_quotas_and_loses_no_order(sale: Stack) -> None:
    """The caller retries throttled starts; transitions wait in Step Functions."""
    stock.seed(sale, {"hot": BURST})
    sharding.reshard(sale, "hot", 8)
    began = datetime.now(UTC)
    with Threads(AT_ONCE) as pool:
        throttled = sum(pool.map(lambda number: _placed(sale, _order(f"burst-{number}", "hot")), range(BURST)))
    eventually(lambda: not _executions(sale, "RUNNING"), seconds=900, every=0.5)
    found = _executions(sale, "SUCCEEDED")
    seconds = (max(one["stopDate"] for one in found) - began).total_seconds()
    allowed = max(_seconds(BURST, *STARTS), _seconds(BURST * TRANSITIONS_OF_AN_ORDER, *TRANSITIONS))
    report = f"{BURST} orders in {seconds:.1f} s, {seconds / allowed:.2f} of {allowed:.1f} s; {throttled} throttled"

    assert len(found) == BURST, report
    assert stock.on_hand(sale) == {"hot": 0}
    # The buckets were full at first; a second of polling is added.
    assert seconds > allowed - 1, report
    if BURST >= TIMED:
        print(report)  # noqa: T201
        assert throttled > 0
        assert seconds <= 1.15 * allowed, report


@pytest.mark.parametrize("rows", [1, 8])
def test_every_piece_is_sold_and_no_order_fails_because_of_others(sale: Stack, rows: int) -> None:
    sku, pieces = f"hot-{rows}", BUYERS // 2
    stock.seed(sale, {sku: pieces})
    placed = [_order(f"{sku}-{number}", sku) for number in range(BUYERS)]

    def buy(order: Document) -> str:
        _placed(sale, order)
        ended = orders.ended(sale, order["order_id"], seconds=600)
        return ended.error or ended.status

    with Threads(AT_ONCE) as pool:
        ends = [pool.submit(buy, order) for order in placed]
        if rows > 1:
            # The sale is on.
            sharding.reshard(sale, sku, rows)
        found = Counter(end.result() for end in ends)
    eventually(lambda: _all_finalized(sale, sku), seconds=300)

    assert found == {"SUCCEEDED": pieces, "OutOfStock": BUYERS - pieces}
    assert {"sku": sku, "on_hand": 0, "shards": rows} in stock.listed(sale)
    assert broken_invariants(sale, [order["order_id"] for order in placed], {sku: pieces}) == []


def _placed(stack: Stack, order: Document) -> int:
    """Place an order. Returns how often that was throttled, in spite of the SDK's own retries."""
    for number in range(10_000):
        try:
            orders.place(stack, order)
        except ClientError as error:
            if error.response["Error"]["Code"] != "ThrottlingException":
                raise
            time.sleep(random.uniform(0, 0.5))  # noqa: S311
        else:
            return number
    raise TimeoutError(order["order_id"])


def _executions(stack: Stack, status: str) -> list[Document]:
    pages = stack.stepfunctions.get_paginator("list_executions").paginate(
        stateMachineArn=stack.outputs["OrderSagaArn"], statusFilter=status
    )
    return [dict(one) for page in pages for one in page["executions"]]


def _seconds(tokens: float, size: float, refill: float) -> float:
    """The time in seconds that a token bucket takes for this many."""
    return max(0.0, tokens - size) / refill
