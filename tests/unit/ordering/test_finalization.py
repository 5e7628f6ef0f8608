"""Finalization of an order by its saga's execution, and the sweep."""

import json
import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from idempotency import NEVER_HAPPENED, LeaseStore, Status, Step, StepCompensated, StepStore
from idempotency.saga import Saga, executions
from idempotency.saga.executions import ExecutionRunning, SagaExecution
from idempotency.saga.finalization import Finalization, Finalized
from idempotency.saga.state import SagaReader, SagaState
from idempotency.saga.sweep import Sweep, SweepIncomplete
from idempotency.saga.table import Unsettled
from ordering import handlers
from ordering.definition import ORDER_SAGA, STEP_NAMES, STEPS
from ordering.gateway import CHARGE
from ordering.orders import OrdersTable
from ordering.payments import PaymentsTable
from ordering.requests import parse_order
from ordering.stock import InventoryTable
from runtime.ended import Ended
from tests.kit.orders import good_order
from tests.unit import dynamodb

NOW = datetime(2026, 11, 21, 12, tzinfo=UTC)
LIFETIME = timedelta(days=90)
DOCUMENT = good_order()
ORDER = parse_order(DOCUMENT)
ORDER_ID = ORDER.order_id
NAMES = list(STEP_NAMES)


@dataclass
class Executions:
    """A Step Functions client with the saga's execution, which records started recoveries.

    recovery: the status of an earlier recovery, or empty. redriven_at: when the saga's execution was redriven.
    """

    status: str
    recovery: str = ""
    redriven_at: datetime | None = None
    started: list[str] = field(default_factory=list)

    def describe_execution(self, *, executionArn: str) -> Any:
        if not self.status:
            raise ClientError({"Error": {"Code": "ExecutionDoesNotExist"}}, "DescribeExecution")
        status = self.recovery if executionArn.startswith("recovery") else self.status
        redriven = {"redriveDate": self.redriven_at} if self.redriven_at else {}
        return {"status": status, "input": json.dumps(DOCUMENT), **redriven}

    def start_execution(self, *, name: str, **_: Any) -> None:
        if self.recovery:
            raise ClientError({"Error": {"Code": "ExecutionAlreadyExists"}}, "StartExecution")
        self.started.append(name)


@dataclass
class Index:
    """The index of undecided orders."""

    orders: list[Unsettled]

    def before(self, _: datetime) -> Iterator[Unsettled]:
        return iter(self.orders)


@dataclass
class Desk:
    """An order with its steps, and its finalization."""

    executions: Executions
    gateway: bool = False
    saga: Saga = ORDER_SAGA
    client: Any = field(default_factory=dynamodb.client)

    def __post_init__(self) -> None:
        self.records = dynamodb.new_table(self.client)
        self.tables = {step.table: dynamodb.new_table(self.client, key=step.key) for step in STEPS}
        self.steps = StepStore(self.client, self.records)
        self.leases = LeaseStore(self.client, self.records, clock=lambda: NOW)
        self.reader = SagaReader(self.saga, self.client, self.tables, self.records)
        self.orders = OrdersTable(self.tables["OrdersTable"])
        stepfunctions: Any = self.executions
        self.finalization = Finalization(
            self.saga,
            self.steps,
            self.orders,
            executions.Executions(self.saga, lambda: stepfunctions, "saga", "recovery"),
            self.reader,
            LIFETIME,
            self.leases if self.gateway else None,
        )

    def commit(self, *names: str) -> "Desk":
        writes = {
            "ProcessOrder": self.orders.save(ORDER, NOW),
            "ProcessPayment": PaymentsTable(self.tables["PaymentsTable"]).capture(ORDER, at=NOW),
            "ReserveInventory": InventoryTable(self.tables["InventoryTable"]).reserve(ORDER, NOW, {}),
        }
        for name in names:
            self.steps.commit(Step(ORDER_ID, name, DOCUMENT, "r-1", NOW), [writes[name]], {})
        return self

    def compensate_order(self) -> "Desk":
        step = Step(ORDER_ID, "ProcessOrder", DOCUMENT, "r-2", NOW)
        self.steps.compensate(step, undo=[self.orders.fail(ORDER_ID, NOW)], absence=[])
        return self

    def lose(self, *names: str) -> "Desk":
        for name in names:
            self.client.delete_item(TableName=self.records, Key={"pk": {"S": f"{ORDER_ID}#{name}"}})
        return self

    def finalize(self, *, name: str = ORDER_ID, at: datetime = NOW) -> Finalized:
        return self.finalization.finalize(SagaExecution(name, self.executions.status, DOCUMENT), at)

    def sweep(self, *, more: int = 0, looks: int = 1) -> dict[str, int]:
        """Sweep. more: other orders in the index with steps in effect. looks: how many orders it has time for."""
        others = [Unsettled(f"more-{number}", True) for number in range(more)]
        unsettled: Any = Index([*others, Unsettled(ORDER_ID, bool(self.listed))])
        time = iter(range(looks))
        return Sweep(self.finalization, unsettled, timedelta(seconds=1)).run(NOW, lambda: next(time, None) is not None)

    @property
    def state(self) -> SagaState:
        return self.reader.read(ORDER_ID)

    @property
    def listed(self) -> tuple[str, ...] | None:
        """The steps that the order's row names; None once it has left the index."""
        row = self.state.rows["ProcessOrder"] or {}
        return tuple(row.get("standing", {}).get("SS", ())) if "unsettled" in row else None

    def statuses(self) -> list[str | None]:
        return [self.state.record_status(step) for step in STEPS]


@pytest.fixture
def after() -> Callable[[str], Desk]:
    """Give an order with its three steps a saga in this status."""
    return lambda status: Desk(Executions(status)).commit(*NAMES)


@pytest.fixture
def by_event(monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Finalize by an event in the rule's format, without the input."""

    def deliver(desk: Desk, status: str, name: str = ORDER_ID) -> None:
        monkeypatch.setattr(handlers, "finalization", lambda: desk.finalization)
        detail = {"stateMachineArn": "saga", "executionArn": f"saga:{name}", "name": name, "status": status}
        context: Any = None
        handlers.finalize_order({"detail": detail}, context)

    return deliver


@pytest.fixture
def confirmed(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The confirmed orders in the log."""
    caplog.set_level(logging.INFO, "idempotency")
    return lambda: [vars(record)["order_id"] for record in caplog.records if record.message == "confirmed"]


def test_every_event_logs_a_confirmed_order(after: Callable[[str], Desk], confirmed: Any) -> None:
    desk = after("SUCCEEDED")

    assert [desk.finalize(), desk.finalize()] == [Finalized.YES] * 2
    assert confirmed() == [ORDER_ID] * 2
    assert desk.listed is None


def test_success_confirms_the_order_without_reading_the_execution(
    after: Callable[[str], Desk], by_event: Callable[..., None], confirmed: Any
) -> None:
    desk = after("")
    by_event(desk, "SUCCEEDED")

    assert (desk.state.confirmed, confirmed()) == (True, [ORDER_ID])


@pytest.mark.parametrize("name", ["another", ORDER_ID], ids=["another name", "delivered again"])
def test_success_under_another_name_uses_the_input(
    after: Callable[[str], Desk], by_event: Callable[..., None], confirmed: Any, name: str
) -> None:
    desk = after("SUCCEEDED")
    if name == ORDER_ID:
        desk.finalize()
    by_event(desk, "SUCCEEDED", name)

    assert desk.state.confirmed
    assert confirmed()[-1] == ORDER_ID


@pytest.mark.parametrize("status", ["FAILED", "TIMED_OUT", "ABORTED"])
def test_failure_reads_the_input_from_the_execution(
    after: Callable[[str], Desk], by_event: Callable[..., None], status: str
) -> None:
    desk = after(status)
    by_event(desk, status)

    assert desk.executions.started == [ORDER_ID]


STOPPED = Ended(ORDER_ID, "ABORTED", f"saga:{ORDER_ID}", "saga", json.dumps(DOCUMENT), round(NOW.timestamp() * 1000))


@pytest.mark.parametrize(("status", "confirmed", "recovered"), [("SUCCEEDED", True, []), ("", False, [ORDER_ID])])
def test_late_stop_of_an_order_completed_by_a_redrive_undoes_nothing(
    after: Callable[[str], Desk], status: str, confirmed: bool, recovered: list[str]
) -> None:
    desk = after(status)
    desk.finalization.finalize_event(STOPPED, NOW)

    assert (desk.state.confirmed, desk.executions.started) == (confirmed, recovered)


@pytest.mark.parametrize(
    ("status", "confirmed", "recovered"), [("SUCCEEDED", True, []), ("ABORTED", False, [ORDER_ID])]
)
def test_retry_finalizes_a_stop_that_step_functions_shows_late(
    after: Callable[[str], Desk], status: str, confirmed: bool, recovered: list[str]
) -> None:
    desk = after("RUNNING")
    with pytest.raises(ExecutionRunning):
        desk.finalization.finalize_event(STOPPED, NOW)
    assert (desk.listed, desk.executions.started) == ((), [])

    desk.executions.status = status
    desk.finalization.finalize_event(STOPPED, NOW)

    assert (desk.state.confirmed, desk.executions.started) == (confirmed, recovered)


def test_stop_followed_by_a_redrive_is_left_to_the_next_end(after: Callable[[str], Desk]) -> None:
    desk = after("RUNNING")
    desk.executions.redriven_at = NOW

    assert desk.finalization.finalize_event(STOPPED, NOW) is Finalized.NOT_YET
    assert (desk.listed, desk.executions.started) == ((), [])
    desk.executions.redriven_at = NOW - timedelta(seconds=1)
    with pytest.raises(ExecutionRunning):
        desk.finalization.finalize_event(STOPPED, NOW)


def test_failed_order_is_recovered_and_logs_no_line(after: Callable[[str], Desk], confirmed: Any) -> None:
    desk = after("FAILED")

    assert desk.finalize() is Finalized.YES
    assert (desk.executions.started, confirmed()) == ([ORDER_ID], [])
    assert desk.listed == tuple(sorted(NAMES))


def test_failed_execution_under_another_name_finalizes_nothing(after: Callable[[str], Desk]) -> None:
    desk = after("FAILED")

    assert desk.finalize(name="another") is Finalized.NO
    assert desk.executions.started == []


@pytest.mark.parametrize("lost", [NAMES, NAMES[:1], NAMES[1:]], ids=str)
def test_event_after_expiry_confirms_by_the_rows(after: Callable[[str], Desk], lost: list[str]) -> None:
    desk = after("SUCCEEDED").lose(*lost)

    assert desk.finalize() is Finalized.YES
    assert (desk.state.confirmed, desk.executions.started) == (True, [])


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "ABORTED"])
def test_confirmed_order_without_records_is_not_undone(after: Callable[[str], Desk], status: str) -> None:
    desk = after("SUCCEEDED")
    desk.finalize()
    desk.lose(*NAMES)
    desk.executions.status = status
    before = desk.state

    assert desk.finalize() is Finalized.YES
    assert (desk.state, desk.executions.started) == (before, [])


@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "ABORTED"])
def test_sealed_records_keep_an_order_whose_row_is_lost(after: Callable[[str], Desk], status: str) -> None:
    """It is not written again as failed, so that the row can be restored."""
    desk = after("SUCCEEDED")
    desk.finalize()
    desk.client.delete_item(TableName=desk.tables["OrdersTable"], Key={"order_id": {"S": ORDER_ID}})
    desk.executions.status = status
    before = desk.state

    assert desk.finalize() is Finalized.YES
    assert (desk.state, desk.executions.started) == (before, [])


@pytest.mark.parametrize("interruption", ["backward", "hold"])
@pytest.mark.parametrize("status", ["SUCCEEDED", "FAILED", "ABORTED", ""])
@pytest.mark.parametrize(("lost", "outcome"), [(False, Finalized.YES), (True, Finalized.STANDING)])
def test_reopened_row_is_confirmed_again_or_counted(
    status: str, interruption: Any, *, lost: bool, outcome: Finalized
) -> None:
    """A machine may be interrupted after it has confirmed its saga."""
    desk = Desk(Executions("SUCCEEDED"), saga=replace(ORDER_SAGA, on_interruption=interruption)).commit(*NAMES)
    table, key = desk.tables["OrdersTable"], {"order_id": {"S": ORDER_ID}}
    row = desk.client.get_item(TableName=table, Key=key)["Item"]
    desk.finalize()
    desk.lose("ProcessOrder", "ProcessPayment")
    desk.client.put_item(TableName=table, Item=row)
    if lost:
        desk.client.delete_item(TableName=desk.tables["PaymentsTable"], Key=key)
    desk.executions.status = status

    assert desk.finalization.review(ORDER_ID, NOW) is outcome
    assert (desk.state.status, desk.executions.started) == ("New" if lost else "Confirmed", [])


def test_steps_never_called_by_a_failed_saga_are_barred() -> None:
    desk = Desk(Executions("FAILED")).commit("ProcessOrder").compensate_order()

    assert desk.finalize() is Finalized.YES
    assert desk.statuses() == ["COMPENSATED"] * 3
    assert (desk.executions.started, desk.listed) == ([], None)


def test_saga_with_a_refused_input_leaves_nothing_behind() -> None:
    desk = Desk(Executions("FAILED"))
    refused = {**DOCUMENT, "items": []}

    assert desk.finalization.finalize(SagaExecution(ORDER_ID, "FAILED", refused), NOW) is Finalized.YES
    assert desk.state.untouched


def test_charge_not_yet_started_is_barred_too() -> None:
    desk = Desk(Executions("ABORTED"), gateway=True)
    desk.finalize()

    assert (lease := desk.state.leases["ProcessPayment"]) is not None
    assert lease["status"] == {"S": Status.FAILED}
    with pytest.raises(StepCompensated):
        desk.leases.run(
            CHARGE,
            ORDER_ID,
            {},
            lambda _: pytest.fail("charged"),
            deadline=NOW + timedelta(1),
            resolve=lambda: NEVER_HAPPENED,
        )


def test_possible_charge_is_recovered_and_not_barred() -> None:
    desk = Desk(Executions("ABORTED"), gateway=True)
    desk.leases.lease(CHARGE, ORDER_ID, {}, deadline=NOW + timedelta(seconds=1))

    assert desk.finalize() is Finalized.YES
    assert desk.executions.started == [ORDER_ID]
    assert desk.statuses() == ["COMPENSATED", None, "COMPENSATED"]
    assert desk.listed == ("ProcessPayment",)


def test_charge_with_a_possibly_expired_lease_is_recovered() -> None:
    desk = Desk(Executions("FAILED"), gateway=True).commit("ProcessOrder").compensate_order()
    desk.finalize(at=NOW + LIFETIME + timedelta(days=1))

    assert desk.executions.started == [ORDER_ID]
    # `attention` reads the same state without the lifetime of a record.
    assert desk.state.standing == {"ProcessPayment"}


def test_step_with_a_lost_record_can_be_undone_again(after: Callable[[str], Desk]) -> None:
    desk = after("FAILED").lose(*NAMES)

    assert desk.finalize() is Finalized.YES
    assert desk.statuses() == ["COMMITTED"] * 3
    assert desk.executions.started == [ORDER_ID]


def test_row_of_another_order_under_the_same_id_is_not_adopted(after: Callable[[str], Desk]) -> None:
    desk = after("FAILED").lose("ProcessPayment")
    other = {**DOCUMENT, "items": [{**DOCUMENT["items"][0], "unit_price": 1}]}

    desk.finalization.finalize(SagaExecution(ORDER_ID, "FAILED", other), NOW)
    assert desk.statuses() == ["COMMITTED", None, "COMMITTED"]
    assert desk.listed == tuple(sorted(NAMES))


def test_steps_in_effect_of_an_unsaved_order_are_listed() -> None:
    desk = Desk(Executions("FAILED")).commit("ProcessPayment")

    assert desk.finalize() is Finalized.YES
    assert (desk.state.status, desk.listed) == ("Pending", ("ProcessPayment",))
    assert desk.statuses() == ["COMPENSATED", "COMMITTED", "COMPENSATED"]


def test_steps_in_effect_of_an_invalid_order_are_listed() -> None:
    desk = Desk(Executions("FAILED")).commit("ProcessPayment")

    desk.finalization.finalize(SagaExecution(ORDER_ID, "FAILED", {"order_id": ORDER_ID}), NOW)
    assert (desk.state.status, desk.listed) == ("Pending", ("ProcessPayment",))


def test_refunded_row_overrides_the_payment_records() -> None:
    desk = Desk(Executions("FAILED"), gateway=True).commit("ProcessOrder", "ProcessPayment").compensate_order()
    with desk.leases.lease(CHARGE, ORDER_ID, DOCUMENT, deadline=NOW) as lease:
        lease.complete("ch_1")
    refund = PaymentsTable(desk.tables["PaymentsTable"]).refund(ORDER_ID, NOW)
    desk.client.transact_write_items(TransactItems=[refund])

    desk.finalize()
    assert (desk.executions.started, desk.listed) == ([], None)


@pytest.mark.parametrize("recovery", ["FAILED", "TIMED_OUT", "ABORTED", "SUCCEEDED"])
def test_steps_in_effect_stay_listed_after_the_recovery(after: Callable[[str], Desk], recovery: str) -> None:
    desk = after("FAILED").compensate_order()
    desk.executions.recovery = recovery

    assert desk.finalize() is Finalized.STANDING
    assert desk.listed == ("ProcessPayment", "ReserveInventory")
    assert desk.sweep() == {"finalized": 0, "standing": 1}


def test_order_with_a_forgotten_saga_stays_listed_while_steps_are_in_effect(after: Callable[[str], Desk]) -> None:
    desk = after("FAILED").compensate_order()
    desk.executions.status = ""

    assert desk.sweep() == {"finalized": 0, "standing": 1}
    assert desk.listed == ("ProcessPayment", "ReserveInventory")


def test_end_of_a_recovery_removes_the_order_from_the_index() -> None:
    desk = Desk(Executions("FAILED")).commit("ProcessOrder")
    desk.finalize()
    assert desk.listed == ("ProcessOrder",)
    desk.compensate_order()

    assert desk.finalization.finalize_recovered(DOCUMENT, NOW) is Finalized.YES
    assert desk.listed is None


def test_recovery_of_an_invalid_order_finalizes_nothing() -> None:
    assert Desk(Executions("FAILED")).finalization.finalize_recovered([], NOW) is Finalized.NO


@pytest.mark.parametrize(
    ("status", "finalized"), [("SUCCEEDED", 1), ("FAILED", 1), ("RUNNING", 0), ("PENDING_REDRIVE", 0)]
)
def test_sweep_counts_what_it_has_finalized(after: Callable[[str], Desk], status: str, finalized: int) -> None:
    assert after(status).sweep() == {"finalized": finalized, "standing": 0}


def test_sweep_names_orders_it_cannot_finalize(after: Callable[[str], Desk], monkeypatch: pytest.MonkeyPatch) -> None:
    desk = after("SUCCEEDED")
    monkeypatch.setattr(Executions, "describe_execution", lambda *_, **__: {"status": "FAILED", "input": "[]"})

    with pytest.raises(SweepIncomplete, match=ORDER_ID):
        desk.sweep()


def test_sweep_names_a_new_order_with_a_forgotten_saga(after: Callable[[str], Desk]) -> None:
    desk = after("")

    with pytest.raises(SweepIncomplete, match=ORDER_ID):
        desk.sweep()


@pytest.fixture
def counted(caplog: pytest.LogCaptureFixture) -> Callable[[], list[int]]:
    """The number of orders with steps in effect, by the lines that the alarm reads."""
    caplog.set_level(logging.INFO, "idempotency")
    return lambda: [vars(record)["standing"] for record in caplog.records if record.message == "swept"]


def test_sweep_out_of_time_counts_the_remaining_orders(after: Callable[[str], Desk], counted: Any) -> None:
    desk = after("FAILED").compensate_order()
    desk.executions.recovery = "FAILED"
    desk.finalize()

    for looks in (0, 1):
        with pytest.raises(SweepIncomplete, match=" of 4: "):
            desk.sweep(more=3, looks=looks)
    assert counted() == [4, 4]


def test_unexaminable_orders_are_counted(
    after: Callable[[str], Desk], monkeypatch: pytest.MonkeyPatch, counted: Any
) -> None:
    desk = after("FAILED").compensate_order()
    desk.finalize()
    monkeypatch.setattr(Executions, "describe_execution", lambda *_, **__: {}["nothing"])

    with pytest.raises(SweepIncomplete, match=ORDER_ID):
        desk.sweep()
    assert counted() == [1]


def test_sweep_does_not_always_run_out_of_time_at_the_same_orders(after: Callable[[str], Desk]) -> None:
    desk = after("FAILED")
    for _ in range(100):
        if not desk.executions.started:
            with pytest.raises(SweepIncomplete, match=" of 2: "):
                desk.sweep(more=1)
    assert desk.executions.started


@pytest.fixture
def held() -> Callable[[str], Desk]:
    """An order with its first step, in a saga that holds interrupted executions; its execution has this status."""

    def desk(status: str) -> Desk:
        made = Desk(Executions(status)).commit("ProcessOrder")
        saga = replace(ORDER_SAGA, on_interruption="hold")
        made.finalization = replace(made.finalization, saga=saga)
        return made

    return desk


@pytest.mark.parametrize("status", ["ABORTED", "TIMED_OUT"])
def test_interrupted_saga_is_held_listed_and_counted(held: Callable[[str], Desk], status: str) -> None:
    desk = held(status)

    assert [desk.finalize(), desk.finalize()] == [Finalized.STANDING] * 2
    assert desk.statuses() == ["COMMITTED", None, None]
    assert (desk.listed, desk.executions.started) == (("ProcessOrder",), [])
    assert desk.sweep() == {"finalized": 0, "standing": 1}


def test_saga_that_failed_by_itself_is_not_held(held: Callable[[str], Desk]) -> None:
    desk = held("FAILED")

    assert desk.finalize() is Finalized.YES
    assert desk.executions.started == [ORDER_ID]


def test_held_saga_is_barred_after_an_operator_undoes_it(held: Callable[[str], Desk]) -> None:
    desk = held("ABORTED")
    desk.finalize()
    desk.compensate_order()

    assert desk.finalization.finalize_recovered(DOCUMENT, NOW) is Finalized.YES
    assert (desk.statuses(), desk.listed) == (["COMPENSATED"] * 3, None)


def test_continued_saga_is_confirmed(held: Callable[[str], Desk]) -> None:
    desk = held("ABORTED")
    desk.finalize()
    desk.commit("ProcessPayment", "ReserveInventory")
    desk.executions.status = "SUCCEEDED"

    assert desk.finalize() is Finalized.YES
    assert (desk.state.confirmed, desk.listed) == (True, None)


JOINING = replace(ORDER_SAGA, steps=ORDER_SAGA.steps[:-1], joining=ORDER_SAGA.all_steps[-1:])


def test_saga_is_confirmed_without_a_joining_step() -> None:
    desk = Desk(Executions("SUCCEEDED"), saga=JOINING).commit("ProcessOrder", "ProcessPayment")

    assert desk.finalize() is Finalized.YES
    assert desk.state.confirmed


def test_leftover_of_a_joining_step_is_listed_and_recovered() -> None:
    """Only the compensation of the joining step gave up."""
    desk = Desk(Executions("FAILED"), saga=JOINING).commit("ProcessOrder", "ReserveInventory").compensate_order()

    assert desk.finalize() is Finalized.YES
    assert desk.executions.started == [ORDER_ID]
    assert desk.listed == ("ReserveInventory",)


def test_joining_step_of_a_failed_saga_is_barred() -> None:
    desk = Desk(Executions("FAILED"), saga=JOINING).commit("ProcessOrder").compensate_order()
    desk.finalize()

    with pytest.raises(StepCompensated):
        desk.commit("ReserveInventory")
