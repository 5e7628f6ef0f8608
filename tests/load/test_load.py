"""Many concurrent orders, through worker processes with IAM on, some of which are killed. The invariants hold.

In their middle, the template is deployed again with other parameters.
"""

import os
import random
from collections import Counter
from collections.abc import Callable

from stepwise.local.deployment import deploy
from stepwise.local.deployment import resources as deployed
from stepwise.local.emulator import emulator
from stepwise.local.simulators.webhook_receiver.client import parameters
from stepwise.operations import orders, stock
from stepwise.operations.stack import Stack
from tests.kit.bounded import Threads
from tests.kit.consistency import broken_invariants, reports_are_exact
from tests.kit.injection import Resources, environment, eventually, killing_workers
from tests.kit.local_stack import Document, Invocation
from tests.kit.orders import good_order

# `make load-test` places twice as many.
SCARCE = int(os.environ.get("SCARCE", "100"))
WHILE_KILLED = int(os.environ.get("WHILE_KILLED", "150"))
# They change each function's environment, log group, and state machine, and some definitions.
CHANGED = {
    "LogRetentionDays": "7",
    "StateMachineLogLevel": "FATAL",
    "RecordLifetimeDays": "89",
    "ReviewSeconds": "86400",
    "TaskMaxConcurrency": "3",
}


def _order(order_id: str, lines: dict[str, int]) -> Document:
    items = [{"sku": sku, "quantity": quantity, "unit_price": 100} for sku, quantity in lines.items()]
    return good_order(order_id, items=items)


def _run(stack: Stack, order: Document) -> str:
    orders.place(stack, order)
    return orders.ended(stack, order["order_id"], seconds=300).status


def _all_finalized(stack: Stack, order_ids: list[str]) -> bool:
    statuses = {row["order_id"]: row["status"] for row in stack.rows("OrdersTable")}
    return all(statuses.get(order_id) != "New" for order_id in order_ids)


def test_quarter_of_the_orders_get_the_last_pieces(stack: Stack, sku: str) -> None:
    name = f"{sku}-scarce"
    pieces = SCARCE // 4
    stock.seed(stack, {name: pieces})
    placed = [_order(f"{name}-{number}", {name: 1}) for number in range(SCARCE)]
    with Threads(16) as pool:
        ended = Counter(pool.map(lambda order: _run(stack, order), placed))
    order_ids = [order["order_id"] for order in placed]
    eventually(lambda: _all_finalized(stack, order_ids), seconds=300)
    assert ended == {"SUCCEEDED": pieces, "FAILED": SCARCE - pieces}
    assert stock.on_hand(stack)[name] == 0
    assert broken_invariants(stack, order_ids, {name: pieces}) == []


def test_orders_stay_consistent_while_workers_are_killed(
    stack: Stack,
    resources: Resources,
    running: emulator.Emulator,
    invoke: Callable[[str, object], Invocation],
    sku: str,
) -> None:
    chance = random.Random(2026)  # noqa: S311
    stocked = {f"{sku}-{number}": WHILE_KILLED * 2 // 15 for number in range(20)}
    stock.seed(stack, stocked)
    placed = [_order(f"{sku}-{number}", _lines(chance, stocked)) for number in range(WHILE_KILLED)]
    names = _names(stack)
    with killing_workers(running.pid, chance) as killed, Threads(17) as pool:
        deployment = pool.submit(_deploy_changed, running)
        ended = Counter(pool.map(lambda order: _run(stack, order), placed))
        deployment.result()
    assert _names(stack) == names
    order_ids = [order["order_id"] for order in placed]
    # An event that was killed three times is lost; the sweep, here for orders of any age, finalizes its order.
    with environment(stack, resources, "SweepOrders", FINALIZE_AFTER_SECONDS="1"):
        eventually(lambda: _swept(stack, invoke, order_ids), seconds=120, every=1)
    assert len(killed) > 10
    assert set(ended) <= {"SUCCEEDED", "FAILED"}
    assert broken_invariants(stack, order_ids, stocked) == []
    eventually(lambda: reports_are_exact(stack), seconds=300, every=0.5)


def test_one_order_placed_twenty_times_concurrently_and_again(stack: Stack, sku: str, order: Document) -> None:
    with Threads(20) as pool:
        placements = list(pool.map(lambda _: orders.place(stack, order), range(20)))
    assert orders.ended(stack, order["order_id"], seconds=300).status == "SUCCEEDED"
    assert [placement.again for placement in placements].count(False) == 1
    assert orders.place(stack, order).again
    payments = [row for row in stack.rows("PaymentsTable") if row["order_id"] == order["order_id"]]
    assert [payment["status"] for payment in payments] == ["Captured"]
    eventually(lambda: _all_finalized(stack, [order["order_id"]]))
    assert broken_invariants(stack, [order["order_id"]], {sku: 10}) == []


def _deploy_changed(running: emulator.Emulator) -> None:
    deploy(running.endpoint, running.log, **CHANGED, **parameters(running.simulators["webhooks"]))


def _names(stack: Stack) -> set[str]:
    """The physical ids of all resources."""
    return {resource["PhysicalResourceId"] for resource in deployed(stack.client("cloudformation"))}


def _lines(chance: random.Random, stocked: dict[str, int]) -> dict[str, int]:
    skus = chance.sample(sorted(stocked), k=chance.randint(1, 5))
    return {sku: chance.randint(1, 3) for sku in skus}


def _swept(stack: Stack, invoke: Callable[[str, object], Invocation], order_ids: list[str]) -> bool:
    invoke("SweepOrders", {})
    arn = stack.outputs["OrderRecoveryArn"]
    running = stack.stepfunctions.list_executions(stateMachineArn=arn, statusFilter="RUNNING")["executions"]
    return not running and _all_finalized(stack, order_ids)
