"""Deliberately broken variants of cards and their processor."""

from contextlib import AbstractContextManager
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from accounts.processor import HttpProcessor
from accounts.steps import Cards
from idempotency import NEVER_HAPPENED
from idempotency.saga.finalization import Finalization
from tests.faults import faults as f
from tests.faults.actors import schedule as s
from tests.faults.mutant import replaced
from tests.faults.people import invariants as breaks
from tests.faults.people import play
from tests.faults.people.mutant import both, mutant

_CREATED = r"^IssueCard@\d#1\.call3$"


@mutant(
    "a card that is issued again with another key",
    breaks.ONE,
    focus=((_CREATED, (f.ANSWER_LOST, f.DIES_AFTER)),),
)
def _another_key() -> AbstractContextManager[Any]:
    """A lost response is taken for a refusal."""
    make = HttpProcessor._make

    def again(self: Any, application_id: str, lease: Any) -> str:
        key = SimpleNamespace(read=lambda: f"key {lease.attempt}")
        return make(self if lease.attempt == 1 else replace(self, stack_key=key), application_id, lease)

    return both(replaced(HttpProcessor, "_find", lambda *_: NEVER_HAPPENED), replaced(HttpProcessor, "_make", again))


@mutant(
    "a cancel that is skipped without a row",
    breaks.NOTHING,
    breaks.ORDER,
    focus=((_CREATED, (f.DIES_AFTER,)), (r"^OpenAccount@\d$", (f.RUNTIME_ERROR_AFTER, f.ABORTED_AFTER))),
)
def _skipped() -> AbstractContextManager[None]:
    cancel = Cards.cancel

    def cancel_known(self: Any, task: Any) -> Any:
        rows = play.engine().run.judge.rows["CardsTable"].values()
        known = any(row["application_id"] == task.step.saga_id for row in rows)
        return cancel(self if known else replace(self, processor=None), task)

    return replaced(Cards, "cancel", cancel_known)


@mutant(
    "a cancel that bars no create",
    breaks.NOTHING,
    breaks.ORDER,
    focus=((_CREATED, (s.HELD,)), (r"^OpenAccount@\d$", (f.RUNTIME_ERROR_AFTER, f.ABORTED_AFTER))),
)
def _late_create() -> AbstractContextManager[None]:
    """At the processor, a create that lands after the cancel makes a card."""
    ledger = type(play.engine().processor.simulator.ledger)
    cancel = ledger.cancel

    def cancel_known(self: Any, key: str) -> Any:
        canceled = cancel(self, key)
        if canceled.request is None:
            del self._charges[key], self._first_used[key]
        return canceled

    return replaced(ledger, "cancel", cancel_known)


@mutant(
    "a finalization that bars no card",
    breaks.NOTHING,
    breaks.ORDER,
    focus=((r"^IssueCard@\d#1\.call[12]$", (s.SLOW,)), (r"^OpenAccount@\d$", (f.RUNTIME_ERROR_AFTER, f.ABORTED_AFTER))),
)
def _no_leases() -> AbstractContextManager[None]:
    """A call in flight makes a card after the cancel has found nothing to do."""
    return replaced(Finalization, "_bar_outside", lambda *_: ())
