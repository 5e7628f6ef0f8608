"""The conservation laws, read from the tables with plain consistent reads, never through the code under test."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from tests.contract.machine import MACHINES, successors
from tests.contract.template import of_type
from tests.faults import faults as f
from tests.faults.engine import RECOVERY, Engine
from tests.faults.faults import Fault
from tests.faults.rows import STEPS, Rows
from tests.faults.run import Run
from tests.faults.seams import Document

COMPENSATIONS = ("ReleaseInventory", "ProcessRefund", "UpdateOrderStatus")

CHARGE = "at most one charge stands at the gateway, of the order's total"
PAID = "a payment that stands is charged, one that is undone is not"
KNOWN = "a charge that stands is known of"
CHARGED = "what stands at the gateway is what the order has captured"
STOCK = "stock is conserved"
NEGATIVE = "stock is never negative"
PAYMENT = "one capture of the order's total, at most one refund"
TRAIL = "what a step answered leaves a trail"
AGREE = "step records and rows agree"
ENDS = "the saga goes where its definition says, and ends in OrderSucceeded or OrderFailed"
OUTCOME = "a saga that ended by itself did all or undid all, unless it says what is left"
ALERT = "who gave up raised an alert with order, step and cause"
NOTICE = "a success is published"
MONEY = "captured minus refunded is the total of what is reserved"
CONFIRMED = "Confirmed has capture and reservation, any other has neither"
SETTLED = "every order is settled in the end"
NEEDLESS = "nobody gives up unless a fault lasts"
RECOVERED = "the order has the status that its saga's end asks for"

_MAY_STAND = {"IN_PROGRESS", "UNKNOWN", "COMPLETED"}
_CUT_OFF = {"ABORTED", "TIMED_OUT"}


@dataclass(frozen=True, slots=True)
class Violation:
    """law: one of those above. when: the moment at which it was broken."""

    law: str
    detail: str
    when: str

    def __str__(self) -> str:
        return f"{self.law}: {self.detail} ({self.when})"


type Broken = Iterator[tuple[str, str]]


def at_rest(run: Run, rows: Rows) -> Broken:
    """What holds whenever nothing is in flight, however little is settled."""
    yield from _stock(run, rows)
    yield from _payment(run, rows)
    yield from _charge(run, rows)
    for step in STEPS:
        yield from _trail(run, rows, step)
        yield from _agrees(rows, step)


def _stock(run: Run, rows: Rows) -> Broken:
    for sku, initial in run.stock.items():
        held = rows.reserved.get(sku, 0)
        if rows.on_hand[sku] + held != initial:
            yield STOCK, f"{sku}: {initial} at first, {rows.on_hand[sku]} on hand, {held} reserved"
        if rows.on_hand[sku] < 0:
            yield NEGATIVE, f"{sku}: {rows.on_hand[sku]}"


def _payment(run: Run, rows: Rows) -> Broken:
    payment = rows.payment
    if payment is None:
        return
    if payment.get("amount") != total(run.document):
        yield PAYMENT, f"captured {payment.get('amount')} for an order of {total(run.document)}"
    refunded = {"Captured": False, "Refunded": True}.get(payment["status"])
    if "captured_at" not in payment or refunded is None or refunded != ("refunded_at" in payment):
        yield PAYMENT, f"the payment reads {payment}"


def _charge(run: Run, rows: Rows) -> Broken:
    payment = rows.records.get("ProcessPayment")
    status = payment["status"] if payment else None
    if len(rows.standing) > 1 or rows.standing not in ([], [total(run.document)]):
        yield CHARGE, f"{rows.standing} stand for an order of {total(run.document)}"
    if status == "COMMITTED" and len(rows.standing) != run.by_gateway:
        yield PAID, f"the payment is made, {rows.standing} stand"
    if status == "COMPENSATED" and rows.standing:
        yield PAID, f"the payment is undone, {rows.standing} stand"
    if status is None and rows.standing and rows.charge not in _MAY_STAND:
        yield KNOWN, f"{rows.standing} stand, without a payment, and the lease is {rows.charge}"


def _trail(run: Run, rows: Rows, step: str) -> Broken:
    if run.answered[step] and rows.row(step) is None:
        yield TRAIL, f"{step} has answered, and its row is gone"


def _agrees(rows: Rows, step: str) -> Broken:
    record = rows.records.get(step)
    status = record["status"] if record else None
    if status == "COMPENSATING":
        return
    if (status == "COMMITTED") != rows.stands(step) or (status is None and rows.row(step) is not None):
        row = rows.row(step)
        yield AGREE, f"{step}: the record says {status}, the row {row and row['status']}"


def total(document: Document) -> int:
    """What the order costs."""
    return sum(item["quantity"] * item["unit_price"] for item in document["items"])


@dataclass(frozen=True, slots=True)
class History:
    """An execution's way. visited: its states. succeeded: the tasks of which one attempt did."""

    machine: str
    execution: Document
    visited: tuple[str, ...]
    succeeded: frozenset[str]

    @classmethod
    def of(cls, execution: Document) -> "History":
        visited: list[str] = []
        succeeded: set[str] = set()
        for event in execution["events"]:
            if event["type"].endswith("StateEntered"):
                visited.append(event["stateEnteredEventDetails"]["name"])
            elif event["type"] == "TaskSucceeded":
                succeeded.add(visited[-1])
        machine = execution["stateMachineArn"].rpartition(":")[2]
        return cls(machine, execution, tuple(visited), frozenset(succeeded))

    @property
    def gave_up(self) -> list[str]:
        """The compensations of which no attempt succeeded, though the execution went on from them."""
        return [state for state in self.visited[:-1] if state in COMPENSATIONS and state not in self.succeeded]

    @property
    def cut_off(self) -> bool:
        """Whether it was ended from outside, or by an error that no Catch sees."""
        return self.execution["status"] in _CUT_OFF or self.execution.get("error") == "States.Runtime"


def of_execution(run: Run, history: History) -> Broken:
    """What holds of each execution once it has ended."""
    states = MACHINES[history.machine].states
    for before, after in zip(history.visited, history.visited[1:], strict=False):
        if after not in successors(states[before]):
            yield ENDS, f"from {before} to {after}"
    was_told_to = any(fault.kind in f.STATE_KINDS and _strikes(fault, history.machine) for fault in run.struck)
    if not was_told_to:
        last = history.visited[-1]
        wanted = {"Succeed": "SUCCEEDED", "Fail": "FAILED"}.get(states[last]["Type"])
        if history.execution["status"] != wanted or history.execution.get("error") == "States.Runtime":
            error = history.execution.get("error")
            yield ENDS, f"{history.machine} ended in {last}: {history.execution['status']} {error}"
    yield from _alerts(run, history)
    yield from _alarm(history)


def _alarm(history: History) -> Broken:
    """Nobody can publish for a recovery that was cut off; an alarm on its executions must."""
    if history.machine != RECOVERY or not history.cut_off:
        return
    metric = {"ABORTED": "ExecutionsAborted", "TIMED_OUT": "ExecutionsTimedOut"}.get(
        history.execution["status"], "ExecutionsFailed"
    )
    watched = {"Name": "StateMachineArn", "Value": {"Ref": RECOVERY}}
    alarms = of_type("AWS::CloudWatch::Alarm").values()
    if not any(alarm["MetricName"] == metric and watched in alarm["Dimensions"] for alarm in alarms):
        yield ALERT, f"{RECOVERY} ended {history.execution['status']}, and no alarm watches {metric}"


def _strikes(fault: Fault, machine: str) -> bool:
    return fault.at.startswith("recovery.") == (machine == RECOVERY)


def _alerts(run: Run, history: History) -> Broken:
    states = MACHINES[history.machine].states
    prefix = "recovery." if history.machine == RECOVERY else ""
    for compensation in history.gave_up:
        notify = "sns:NotifyRecoveryFail" if prefix else states[compensation]["Catch"][-1]["Next"]
        if prefix + notify in _silenced(run) or history.cut_off:
            continue
        # The saga knows its order by its own name, also when its input is broken.
        name = run.order_id if prefix else history.execution["name"]
        if not any(_names(name, alert, prefix + notify, compensation) for alert in run.published):
            yield ALERT, f"{prefix}{compensation} gave up; published: {[alert.state for alert in run.published]}"


def _names(order_id: str, alert: Any, state: str, compensation: str) -> bool:
    """Whether the alert names the order, the step and the cause."""
    message = alert.message
    if alert.topic != "AlertsTopic" or alert.state != state or message.get("order_id") != order_id:
        return False
    outcome = message.get("outcome", {})
    if not outcome.get("Error"):
        return False
    if not state.startswith("recovery."):
        return bool(outcome.get("Cause"))
    return bool(outcome["Cause"][compensation].get("Error"))


def _silenced(run: Run) -> set[str]:
    return {fault.at for fault in run.struck if fault.kind == f.PUBLISH_ALWAYS_FAILS}


def of_saga(run: Run, history: History, rows: Rows) -> Broken:
    """What holds right after a saga that ended by itself, before anybody settles it."""
    if history.cut_off:
        return
    standing = [step for step in STEPS if rows.stands(step)]
    if history.execution["status"] == "SUCCEEDED":
        if len(standing) < len(STEPS) and not run.meddled:
            yield OUTCOME, f"it succeeded, and only {standing} stand"
        told = [notice for notice in run.published if notice.topic == "OrderEventsTopic"]
        if not told and "sns:NotifySuccess" not in _silenced(run):
            yield NOTICE, "nothing was published"
        if any(notice.message["order_id"] != run.document["order_id"] for notice in told):
            yield NOTICE, f"another order was announced: {told}"
    elif standing and not history.gave_up and not run.meddled:
        yield OUTCOME, f"it failed, nobody gave up, and {standing} stand"


def settled(run: Run, history: History, rows: Rows) -> Broken:
    """What holds once the order is settled and recovered: the strong laws."""
    captured = rows.payment is not None and rows.payment["status"] == "Captured"
    money = rows.payment["amount"] if captured and rows.payment else 0
    reserved = total(run.document) if rows.reserved else 0
    if money != reserved:
        yield MONEY, f"{money} is charged, {reserved} is reserved"
    status = rows.order["status"] if rows.order else None
    parts = [captured, bool(rows.reserved)]
    if not all(parts) if status == "Confirmed" else any(parts):
        yield CONFIRMED, f"the order is {status}, captured {captured}, reserved {rows.reserved}"
    if rows.standing != ([money] if captured and run.by_gateway else []):
        yield CHARGED, f"{rows.standing} stand, {money} is captured"
    if status == "New":
        yield SETTLED, "the order is still New"
    wanted = {"Confirmed"} if history.execution["status"] == "SUCCEEDED" else {"Pending", None}
    if status not in wanted | {"New"} | ({"Pending", None} if run.meddled else set()):
        yield RECOVERED, f"the saga ended {history.execution['status']}, the order is {status}"


def unforced(run: Run, history: History) -> Broken:
    """What holds of an execution while no fault lasts: recovery outlives everything else, and so does a clean saga."""
    is_order = all(item["quantity"] > 0 for item in run.document["items"])
    if history.gave_up and is_order and (history.machine == RECOVERY or not run.scenario.faults):
        yield NEEDLESS, f"{history.machine}: {', '.join(history.gave_up)}"


def histories(engine: Engine, run: Run) -> list[History]:
    """All executions of the run's order."""
    return [History.of(execution) for execution in engine.executions(run.order_id)]
