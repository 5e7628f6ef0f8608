"""The names of the invariants, and those of executions: their paths and notices. `row_invariants` has the others."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tests.faults import faults as f
from tests.faults.engine import RECOVERY, SAGA, Engine
from tests.faults.faults import Fault
from tests.faults.rows import STEPS, Rows
from tests.faults.run import SECOND_PREFIX, Run
from tests.faults.scenario import is_order
from tests.faults.seams import Document
from tests.faults.subject import SUBJECT
from tests.kit.alarms import watched
from tests.kit.invariants import CONFIRMED as CONFIRMED
from tests.kit.invariants import FINAL as FINAL
from tests.kit.invariants import FINALIZED as FINALIZED
from tests.kit.invariants import LISTED as LISTED
from tests.kit.invariants import MONEY as MONEY
from tests.kit.invariants import NEGATIVE as NEGATIVE
from tests.kit.invariants import REFUSED as REFUSED
from tests.kit.invariants import STOCK as STOCK
from tests.kit.invariants import Broken
from tests.kit.machine import MACHINES, successors

COMPENSATIONS = tuple(step.compensation for step in SUBJECT.saga.deployed)

CHARGE = "at most one charge stands at the gateway, of the order's total"
PAID = "a payment that stands is charged, one that is undone is not"
KNOWN = "a charge that stands is known of"
CHARGED = "what stands at the gateway is what the order has captured"
PAYMENT = "one capture of the order's total, at most one refund"
TRAIL = "what a step answered leaves a trail"
AGREE = "step records and rows agree"
SAME = "what stands of an order is of one payload"
ENDS = "the saga goes where its definition says, and ends in OrderSucceeded or OrderFailed"
OUTCOME = "a saga that ended by itself did all or undid all, unless it says what is left"
ALERT = "who gave up raised an alert with order, step and cause"
NOTICE = "a success is published"
NEEDLESS = "nobody gives up unless a fault lasts"
RECOVERED = "the order has the status that its saga's end asks for"

_CUT_OFF = {"ABORTED", "TIMED_OUT"}


@dataclass(frozen=True, slots=True)
class Violation:
    """A violation. invariant: one of the above. when: the moment of the violation."""

    invariant: str
    detail: str
    when: str

    def __str__(self) -> str:
        return f"{self.invariant}: {self.detail} ({self.when})"


@dataclass(frozen=True, slots=True)
class History:
    """An execution's path. prefix: starts the names of its places. visited: its states.

    succeeded: tasks with a successful attempt.
    """

    machine: str
    prefix: str
    execution: Document
    visited: tuple[str, ...]
    succeeded: frozenset[str]

    @classmethod
    def of(cls, run: Run, execution: Document) -> "History":
        visited: list[str] = []
        succeeded: set[str] = set()
        for event in execution["events"]:
            if event["type"].endswith("StateEntered"):
                visited.append(event["stateEnteredEventDetails"]["name"])
            elif event["type"] == "TaskSucceeded":
                succeeded.add(visited[-1])
        machine = execution["stateMachineArn"].rpartition(":")[2]
        return cls(machine, run.prefix(execution), execution, tuple(visited), frozenset(succeeded))

    @property
    def order_id(self) -> str:
        return str(json.loads(self.execution["input"])[SUBJECT.saga.id_field])

    def is_saga_of(self, order_id: str) -> bool:
        return self.machine == SAGA and self.order_id == order_id

    @property
    def gave_up(self) -> list[str]:
        """Compensations without a successful attempt, after which the execution continued."""
        return [state for state in self.visited[:-1] if state in COMPENSATIONS and state not in self.succeeded]

    @property
    def cut_off(self) -> bool:
        """True if it ended from outside, or by an error that no Catch matches."""
        return self.execution["status"] in _CUT_OFF or self.execution.get("error") == "States.Runtime"


def of_execution(run: Run, history: History) -> Broken:
    """Yield violations of each ended execution."""
    states = MACHINES[history.machine].states
    for before, after in zip(history.visited, history.visited[1:], strict=False):
        if after not in successors(states[before]):
            yield ENDS, f"from {before} to {after}"
    was_told_to = any(fault.kind in f.STATE_KINDS and _injected_in(fault, history) for fault in run.injected)
    if not was_told_to:
        last = history.visited[-1]
        wanted = {"Succeed": "SUCCEEDED", "Fail": "FAILED"}.get(states[last]["Type"])
        if history.execution["status"] != wanted or history.execution.get("error") == "States.Runtime":
            error = history.execution.get("error")
            yield ENDS, f"{history.machine} ended in {last}: {history.execution['status']} {error}"
    yield from _alerts(run, history)
    yield from _alarm(history)


def _alarm(history: History) -> Broken:
    """Check that an alarm on executions exists: a recovery that was cut off cannot publish."""
    if history.machine != RECOVERY or not history.cut_off:
        return
    metric = {"ABORTED": "ExecutionsAborted", "TIMED_OUT": "ExecutionsTimedOut"}.get(
        history.execution["status"], "ExecutionsFailed"
    )
    if not watched(metric, RECOVERY):
        yield ALERT, f"{RECOVERY} ended {history.execution['status']}, and no alarm watches {metric}"


def _injected_in(fault: Fault, history: History) -> bool:
    return fault.at.rpartition(".")[0] == history.prefix.removesuffix(".")


def _alerts(run: Run, history: History) -> Broken:
    states = MACHINES[history.machine].states
    for compensation in history.gave_up:
        is_recovery = history.machine == RECOVERY
        notify = "sns:NotifyRecoveryFail" if is_recovery else _notify(states, compensation, history)
        state = history.prefix + notify
        if state in _silenced(run) or history.cut_off:
            continue
        # The saga knows its order by the execution's name, even if its input is broken.
        name = history.order_id if is_recovery else history.execution["name"]
        if not any(_names(name, alert, state, compensation) for alert in run.published):
            yield ALERT, f"{history.prefix}{compensation} gave up; published: {[one.state for one in run.published]}"


def _notify(states: Mapping[str, Any], compensation: str, history: History) -> str:
    """Return the state that reports that a compensation gave up: the target of its Catch, or of its group's."""
    caught = str(states[compensation]["Catch"][-1]["Next"])
    later = history.visited[history.visited.index(compensation) :]
    return caught if caught.startswith("sns:") else next((name for name in later if name.startswith("sns:")), caught)


def _names(order_id: str, alert: Any, state: str, compensation: str) -> bool:
    """True if the alert names the order, the step and the cause."""
    message = alert.message
    if alert.topic != "AlertsTopic" or alert.state != state or message.get(SUBJECT.saga.id_field) != order_id:
        return False
    outcome = message.get("outcome", {})
    if not outcome.get("Error"):
        return False
    if isinstance(outcome.get("Cause"), str):
        return bool(outcome["Cause"])
    return bool(outcome["Cause"][compensation].get("Error"))


def _silenced(run: Run) -> set[str]:
    return {fault.at for fault in run.injected if fault.kind == f.PUBLISH_ALWAYS_FAILS}


def of_saga(run: Run, history: History, rows: Rows) -> Broken:
    """Yield violations right after a saga ended by itself, before finalization."""
    if history.cut_off:
        return
    standing = [step for step in STEPS if rows.stands(step)]
    if history.execution["status"] == "SUCCEEDED":
        if len(standing) < len(STEPS) and not run.meddled:
            yield OUTCOME, f"it succeeded, and only {standing} stand"
        told = [one for one in run.published if one.topic == SUBJECT.topic and one.state == SUBJECT.notice]
        if not told and SUBJECT.notice not in _silenced(run):
            yield NOTICE, "nothing was published"
        if any(notice.message[SUBJECT.saga.id_field] != run.order_id for notice in told):
            yield NOTICE, f"another order was announced: {told}"
    elif standing and not history.gave_up and not run.meddled:
        yield OUTCOME, f"it failed, nobody gave up, and {standing} stand"


def unforced(run: Run, history: History, histories: Sequence[History]) -> Broken:
    """Yield violations of an execution without a lasting fault: recovery and a clean saga outlast any other."""
    # A second execution of the order may succeed during its recovery; from then on nothing is undone.
    overtaken = any(one.prefix == SECOND_PREFIX and one.execution["status"] == "SUCCEEDED" for one in histories)
    is_recovery = history.machine == RECOVERY and not overtaken
    if (
        history.gave_up
        and is_order(json.loads(history.execution["input"]))
        and (is_recovery or not run.scenario.faults)
    ):
        yield NEEDLESS, f"{history.machine}: {', '.join(history.gave_up)}"


def histories(engine: Engine, run: Run) -> list[History]:
    """Return all executions of the run's orders."""
    return [History.of(run, execution) for execution in engine.executions()]
