"""Each fault has its documented effect, by the run's notes in order."""

import pytest

from tests.faults.faults import Fault, UnknownFault
from tests.faults.scenario import Scenario
from tests.faults.workers import Workers, traced

SEEN = [
    ("ok: dies after ProcessPayment#1.call1", ["ProcessPayment#1: Runtime.ExitError", "ProcessPayment#2: answered"]),
    ("ok: answer lost at ProcessOrder#1.call1", ["ProcessOrder#1: StoreUnavailable", "ProcessOrder#2: answered"]),
    ("ok: answer lost once at ProcessOrder#1.call1", ["ProcessOrder#1: answered", "ProcessPayment#1: answered"]),
    ("ok: conflict at ProcessOrder#1.call1", ["ProcessOrder#1: Contention", "ProcessOrder#2: answered"]),
    ("ok: conflict at ReserveInventory#1.call1", ["ProcessPayment#1: answered", "ReserveInventory#1: answered"]),
    ("ok: error after ProcessPayment#1", ["ProcessPayment#1: RuntimeError", "ProcessRefund#1: answered"]),
    ("ok: denied ProcessPayment#1", ["ProcessPayment#1: UnexpectedFailure", "ProcessRefund#1: answered"]),
    (
        "ok: abandoned ProcessPayment#1 after the saga",
        ["ProcessRefund#1: answered", "order-saga FAILED RuntimeError", "ProcessPayment#1 lands now"],
    ),
    (
        "declined: late ProcessRefund#1.call2 before UpdateOrderStatus",
        ["ProcessRefund#1: Sandbox.Timedout", "ProcessRefund#2: answered", "ProcessRefund#1 lands now"],
    ),
    ("ok: duplicate at ProcessOrder#1.call1", ["ProcessOrder#1': answered", "ProcessOrder#1: answered"]),
    (
        "ok: publish fails at sns:NotifySuccess#1",
        ["sns:NotifySuccess#1: refused", "sns:NotifySuccess#2: published to OrderEventsTopic"],
    ),
    ("ok: aborted after ProcessPayment", ["order-saga ABORTED", "recovery.ProcessRefund#1: answered"]),
    ("ok: event lost", ["order-saga SUCCEEDED", "SweepOrders#1: answered"]),
    (
        "ok: event thrice",
        ["FinalizeOrder#1: answered", "FinalizeOrder#2: answered", "FinalizeOrder#3: answered"],
    ),
    (
        "ok by gateway: answer lost at ProcessPayment#1.call3",
        ["ProcessPayment#1: GatewayUnavailable", "ProcessPayment#2: answered"],
    ),
    (
        "ok by gateway: dies after ProcessPayment#1.call3",
        ["ProcessPayment#1: Runtime.ExitError", "ProcessPayment#2: AlreadyInProgress", "ProcessPayment#3: answered"],
    ),
    (
        "ok by gateway: gateway refuses ProcessPayment#1.call3",
        ["ProcessPayment#1: GatewayRefused", "ProcessRefund#1: answered"],
    ),
    (
        "ok by gateway: held on its way ProcessPayment#1.call3 before ReserveInventory",
        [
            "ProcessPayment#2: answered",
            "the request of ProcessPayment#1.call3 lands now",
            "ReserveInventory#1: answered",
        ],
    ),
    (
        "out of stock by gateway: gateway down for the saga: ProcessRefund",
        ["ProcessRefund#11: GatewayUnavailable", "recovery.ProcessRefund#1: answered"],
    ),
    (
        "ok by gateway: stray call of ProcessRefund after the finalization",
        ["stray call of ProcessRefund after the finalization lands now", "stray.ProcessRefund#1: StateConflict"],
    ),
    (
        "ok by gateway: second execution of OrderSaga before ReserveInventory",
        ["second.ProcessPayment#1: answered", "FinalizeOrder#1: answered", "order-saga SUCCEEDED"],
    ),
    (
        "out of stock: denied for good: ProcessRefund",
        ["recovery.sns:NotifyRecoveryFail#1: published to AlertsTopic", "recovery.ProcessRefund#22: answered"],
    ),
]


EDGES_SEEN = [
    (
        "ok by gateway: stray calls of ProcessRefund at last",
        ["stray.ProcessRefund#1: StateConflict", "stray.ProcessRefund#2: StateConflict"],
    ),
    (
        "out of stock by gateway: stray call of ProcessRefund before ReserveInventory;"
        " dies after stray.ProcessRefund#1.call2",
        ["stray.ProcessRefund#1: Runtime.ExitError", "ReserveInventory#1: OutOfStock", "ProcessRefund#1: answered"],
    ),
    ("ok: foreign call of ReserveInventory before sns:NotifySuccess", ["stray.ReserveInventory#1: PayloadMismatch"]),
    ("ok: foreign call of ProcessRefund after the finalization", ["stray.ProcessRefund#1: StateConflict"]),
    (
        "ok: foreign execution of OrderSaga before ProcessOrder",
        ["second.ProcessOrder#1: answered", "FinalizeOrder#1: answered", "ProcessOrder#1: PayloadMismatch"],
    ),
    (
        "ok: second execution of OrderSaga before ProcessOrder; dies after second.ProcessPayment#1.call1",
        ["second.ProcessPayment#1: Runtime.ExitError", "second.ProcessPayment#2: answered", "order-saga SUCCEEDED"],
    ),
    (
        "ok: neighbor execution of OrderSaga before ReserveInventory",
        ["neighbor.ReserveInventory#1: answered", "ReserveInventory#1: OutOfStock"],
    ),
    (
        "declined by gateway: records expire: ChargeCard before UpdateOrderStatus",
        ["records: ProcessOrder COMMITTED, ProcessPayment COMPENSATED, ChargeCard FAILED expired"],
    ),
    (
        "out of stock: records deleted: ProcessPayment before ReleaseInventory",
        [
            "records: ProcessOrder COMMITTED expired",
            "ProcessRefund#1: StateConflict",
            "recovery.ProcessRefund#1: answered",
        ],
    ),
    (
        "out of stock: records restored: ProcessPayment@ReserveInventory after the saga",
        ["records: ProcessOrder COMPENSATED, ProcessPayment COMMITTED, ReserveInventory COMPENSATED"],
    ),
    ("ok: operator runs recover after the saga", ["recover: NothingToRecover", "FinalizeOrder#1: answered"]),
    (
        "out of stock: denied for good: ProcessRefund; operator runs recover--file after the finalization",
        ["recover--file: done", "recovery.ProcessRefund#22: UnexpectedFailure"],
    ),
    (
        "out of stock: denied for good: ProcessRefund; operator runs recover--other-file after the finalization",
        ["recover--other-file: NotTheOrder"],
    ),
    (
        "declined by gateway: foreign call of ProcessPayment before ProcessOrder; operator runs recover--other-file"
        " before recovery.ProcessRefund",
        ["recover--other-file: done", "recovery.ReleaseInventory#2: answered", "recovery.ProcessRefund#1: answered"],
    ),
    ("ok by gateway: operator runs release at last", ["release: done"]),
    ("declined by gateway: operator runs resolve before ProcessRefund", ["resolve: done"]),
    (
        "ok by gateway: event after expiry of OrderSaga",
        ["FinalizeOrder#1: answered", "FAULT event after expiry of OrderSaga", "FinalizeOrder#2: answered"],
    ),
    (
        "ok: aborted before ReserveInventory; recovery event lost",
        ["recovery.sns:NotifyRecovered#1: published to RoutineTopic", "SweepOrders#1: answered"],
    ),
    (
        "ok: finalization broken for 31 days, deleted: ProcessOrder",
        ["FinalizeOrder#1: broken", "SweepOrders#1: broken", "SweepOrders#4: answered"],
    ),
    ("ok by gateway: placed again, left: ChargeCard", ["order-saga SUCCEEDED", "ProcessOrder#2: StateConflict"]),
    ("not an order: id reused, left: nothing", ["ProcessOrder#1: InvalidOrder", "ProcessOrder#2: answered"]),
]
SEEN += EDGES_SEEN


@pytest.mark.parametrize(("text", "seen"), SEEN, ids=[text for text, _ in SEEN])
def test_fault_has_its_documented_effect(workers: Workers, text: str, seen: list[str]) -> None:
    trace = workers.pool.submit(traced, Scenario.parse(text)).result()
    assert [line for line in trace if line in seen] == seen, "\n".join(trace)


@pytest.mark.parametrize("text", ["bad luck at ProcessOrder#1", "late ProcessOrder#1", "dies before", "event lost x"])
def test_unknown_fault_is_rejected(text: str) -> None:
    with pytest.raises(UnknownFault):
        Fault.parse(text)
