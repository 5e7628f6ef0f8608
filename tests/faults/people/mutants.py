"""Deliberately broken variants of account opening: the explorer must see each one fail.

Each is a small patch of the loaded code, or of a deployed definition. `focus` says where its faults are drawn.
"""

from contextlib import AbstractContextManager
from typing import Any

import accounts.bank
from accounts import checks
from accounts.bank import CustomersTable
from accounts.documents import Documents
from accounts.recovery import Recovery
from accounts.steps import BankAccounts, OpeningBonus, Outcome
from accounts.table import Applications
from approvals.deciding import Requesting
from idempotency.saga import SagaSteps
from idempotency.saga.sweep import Sweep
from idempotency.steps import StepStore
from runtime.machine import Machine
from tests.faults import faults as f
from tests.faults.actors import schedule as s
from tests.faults.actors.mutant import THROTTLED, with_tries
from tests.faults.mutant import replaced, without_condition
from tests.faults.people import invariants as breaks
from tests.faults.people import plan, play
from tests.faults.people.mutant import both, edited, mutant
from tests.faults.seams import Document

_LATE = (f.LATE, f.ABANDONED)
_CARD_FAILS = ((r"^(IssueCard|ActivateCard)@\d#\d+$", (f.ERROR_BEFORE,)),)
_SETUP_FAILS = ((r"^(PostOpeningBonus|ActivateCard|MarkApproved)@\d#1$", (f.ERROR_BEFORE, f.ABANDONED)),)
_ACCOUNT_LATE = ((r"^(OpenAccount|PostOpeningBonus)@\d#1$", _LATE), *_CARD_FAILS)
REDRIVEN = (
    (r"^WaitForReview@\d$", (f.ABORTED_BEFORE, f.ABORTED_AFTER)),
    (r"^end@AccountOpening\.\d#1$", (s.REDRIVEN,)),
)
UNRECORDED = ((r"^record:", (s.RECORD_LOST,)),)


def _unordered() -> AbstractContextManager[None]:
    return replaced(SagaSteps, "_childless", lambda *_: [])


@mutant("a parent that is undone first", breaks.ORDER, focus=_SETUP_FAILS)
def _parent_first() -> AbstractContextManager[Any]:
    def edit(states: Document) -> None:
        for state in ("Register Customer", "Open Account And Issue Card", "Mark Approved"):
            states[state]["Catch"][-1]["Next"] = "Remove Customer"
        states["Remove Customer"]["Next"] = "Undo Account And Card"
        states["Account And Card Undone?"]["Default"] = "Mark Failed"

    return both(_unordered(), edited(edit, "AccountSetup"))


@mutant("a branch that is not undone when the other fails", breaks.ORDER, breaks.NOTHING, focus=_SETUP_FAILS)
def _one_branch() -> AbstractContextManager[Any]:
    def edit(states: Document) -> None:
        group = states["Undo Account And Card"]
        group["Branches"][1] = {"StartAt": "Skipped", "States": {"Skipped": {"Type": "Pass", "End": True}}}

    return both(_unordered(), edited(edit, "AccountSetup", "AccountRecovery"))


@mutant("an account that is approved without having been set up", breaks.COMPLETE, focus=_SETUP_FAILS)
def _unsealed() -> AbstractContextManager[Any]:
    def approve(self: Any, task: Any) -> Any:
        action = self.applications.actions.confirm(task.step.saga_id, task.step.at)
        self.steps.store.seal(task.step.saga_id, [], [action], task.step.at)
        return {"status": "APPROVED"}

    def edit(states: Document) -> None:
        states["Open Account And Issue Card"]["Catch"][-1]["Next"] = "Mark Approved"

    return both(replaced(Outcome, "approve", approve), edited(edit, "AccountSetup"))


@mutant("a person who is a customer twice", breaks.ONE)
def _twice() -> AbstractContextManager[None]:
    register = CustomersTable.register
    return replaced(
        CustomersTable, "register", lambda self, *given: [without_condition(one) for one in register(self, *given)]
    )


@mutant("a customer of the release before who is not looked for", breaks.ONE)
def _forgotten() -> AbstractContextManager[None]:
    bars = accounts.bank._bars
    return replaced(accounts.bank, "_bars", lambda application: bars(application)[:1])


@mutant("two spellings that are two persons", breaks.ONE)
def _two_spellings() -> AbstractContextManager[None]:
    bars = accounts.bank._bars
    return replaced(accounts.bank, "_bars", lambda application: bars(application)[1:2])


@mutant("a late step that nothing bars", breaks.NOTHING, breaks.ORDER, breaks.LEDGER, focus=_ACCOUNT_LATE)
def _unbarred() -> AbstractContextManager[Any]:
    return both(
        replaced(StepStore, "_tombstone", lambda self, step, _: self._no_record(step)),
        replaced(SagaSteps, "_due", lambda *_: []),
    )


@mutant("a reversal of one side", breaks.LEDGER, focus=_SETUP_FAILS)
def _one_side() -> AbstractContextManager[None]:
    transfer = OpeningBonus._transfer
    return replaced(OpeningBonus, "_transfer", lambda self, task, kind, amount: transfer(self, task, kind, amount)[:1])


@mutant(
    "FAILED that is written while the child completes",
    breaks.FINAL,
    focus=((r"^ApproveApplication@\d$", (f.ABORTED_AFTER,)), (r"^MarkApproved@\d#1", (s.ABORTED_AT, s.SLOW))),
)
def _failed_meanwhile() -> AbstractContextManager[Any]:
    """The parent's end is mistaken for the child's."""

    def end(self: Any, application_id: str, status: str, at: Any) -> bool:
        seen = self.applications.find(application_id)
        return bool(seen and self.applications.fail(seen, f"Execution.{status}", at))

    def fail(self: Any, seen: Any, reason: str, at: Any) -> bool:
        assign = {"status": "FAILED", "reason": reason, "updated_at": at.isoformat()}
        return bool(self._update(seen.application_id, "attribute_exists(#status)", assign))

    return both(replaced(Recovery, "end", end), replaced(Applications, "fail", fail))


@mutant("an end event that is believed after a redrive", breaks.REVIEWS, focus=REDRIVEN)
def _believed() -> AbstractContextManager[None]:
    def end(self: Any, application_id: str, status: str, at: Any) -> bool:
        seen = self.applications.find(application_id)
        if seen is None or self.setup.status(application_id) in ("RUNNING", "SUCCEEDED"):
            return False
        return bool(self.applications.fail(seen, f"Execution.{status}", at))

    return replaced(Recovery, "end", end)


@mutant("a redrive that asks about a decided application", breaks.REVIEWS, focus=REDRIVEN)
def _asks_in_vain() -> AbstractContextManager[None]:
    return replaced(Requesting, "_subject", lambda *_: None)


@mutant(
    "an event instead of the sweep of setups",
    breaks.WAITS,
    breaks.NOTHING,
    focus=(
        (r"^(OpenAccount|IssueCard|ActivateCard)@\d$", (f.ABORTED_AFTER,)),
        (r"^event@AccountSetup", (s.EVENT_LOST,)),
    ),
)
def _no_sweep() -> AbstractContextManager[None]:
    return replaced(Sweep, "run", lambda *_: {})


@mutant("a sweep that starts nothing", breaks.WAITS, focus=UNRECORDED)
def _starts_nothing() -> AbstractContextManager[None]:
    return replaced(Applications, "open", lambda _: iter(()))


@mutant("a name in an execution's input", breaks.PERSONAL)
def _named() -> AbstractContextManager[None]:
    start = Machine.start

    def start_named(self: Any, application_id: str, document: Document) -> None:
        name = play.engine().run.judge.applications[application_id]["name"]
        start(self, application_id, {"application": {**document["application"], "name": name}})

    return replaced(Machine, "start", start_named)


@mutant("an account number in an answer", breaks.PERSONAL)
def _numbered() -> AbstractContextManager[None]:
    opened = BankAccounts.open
    return replaced(
        BankAccounts, "open", lambda self, task: {**opened(self, task), "number": self.number(task.step.saga_id)}
    )


@mutant(
    "the newest document instead of the one that was checked",
    breaks.PINNED,
    focus=((r"^CheckIdentity@\d#[12]$", (f.ERROR_AFTER, f.TIMED_OUT_AFTER)),),
)
def _newest() -> AbstractContextManager[None]:
    find = Documents.find
    return replaced(
        Documents, "find", lambda self, key, _, pin: find(self, key, None, lambda newest: pin(newest) and newest)
    )


@mutant("a limit that two applications at once do not see", breaks.LIMIT)
def _undecided_is_nobody() -> AbstractContextManager[None]:
    """Only customers count at an address, so two applications at once exceed its limit."""

    def too_many(application: Any, neighbours: Any, limits: Any) -> bool:
        others = [one for one in neighbours if one.application_id != application.application_id]
        return sum(one.status == "APPROVED" for one in others) >= limits.customers

    return both(replaced(checks, "too_many", too_many), replaced(plan, "_CROWDED", 1))


@mutant("a throttled step that gives up within three minutes", breaks.OUTCOME, focus=THROTTLED)
def _impatient() -> AbstractContextManager[None]:
    """Restore a past defect: a step had eight tries."""
    return with_tries(8)
