"""Deliberately broken variants of approvals."""

import json
from contextlib import AbstractContextManager
from typing import Any

from api import approvals as over_http
from api import calls
from api.answer import Answer
from approvals import table as of_approvals
from approvals.callbacks import Callbacks, Trace
from approvals.state import Approval
from approvals.table import ApprovalsTable
from tests.faults import faults as f
from tests.faults.actors import schedule as s
from tests.faults.mutant import replaced
from tests.faults.people import invariants as breaks
from tests.faults.people.mutant import mutant
from tests.faults.people.mutants import UNRECORDED
from tests.faults.people.schedule import WEEKS_WITHOUT

_ANSWER_LOST = ((r"^(SendCallbacks|SweepApprovals)#\d+\.call3$", (f.ANSWER_LOST, f.DIES_AFTER)),)
_AROUND_DUE = ((r"^Decide@.*\.call1$", (s.SLOW, s.HELD)), (r"^SweepApprovals#\d+\.call[4-6]$", (s.SLOW,)))


@mutant("a decision by the last write", breaks.ONCE, breaks.AGREE)
def _last_write() -> AbstractContextManager[None]:
    return replaced(of_approvals, "_UNDUE", "#due_at > :decided_at AND #status <> :decided_at AND :waiting <> #due_at")


@mutant("an expiry without a condition", breaks.ONCE, focus=_AROUND_DUE)
def _always_expires() -> AbstractContextManager[None]:
    return replaced(of_approvals, "_DUE", "#due_at <= :decided_at AND :waiting <> :decided_at")


@mutant("a decision after it is due", breaks.EXPIRY, focus=((r"^rest#", (WEEKS_WITHOUT,)),))
def _overdue() -> AbstractContextManager[None]:
    return replaced(of_approvals, "_UNDUE", "#status = :waiting AND :decided_at <> :waiting")


@mutant("a requester who decides", breaks.EYES)
def _own_request() -> AbstractContextManager[None]:
    return replaced(Approval, "four_eyes", property(lambda _: False))


@mutant("a token that decides for every group", breaks.EYES)
def _any_group() -> AbstractContextManager[None]:
    def decide(request: Any, own: Any) -> Answer:
        given = {**request.body, "approval_id": request.values["approval_id"], "decided_by": request.subject}
        return Answer(200, calls.invoke(own.decide_approval_function, given))

    return replaced(over_http, "decide_approval", decide)


@mutant("a token that is stored after the notice", breaks.KNOWN, focus=((r"^WaitForReview@\d#1\.call2$", (s.SLOW,)),))
def _token_later() -> AbstractContextManager[None]:
    """The record's stream notifies people before the token is stored."""
    transact = ApprovalsTable._transact

    def one_by_one(self: Any, *actions: Any) -> Any:
        outcome = transact(self, actions[0])
        return outcome if not outcome.applied or len(actions) == 1 else transact(self, *actions[1:])

    return replaced(ApprovalsTable, "_transact", one_by_one)


@mutant("TaskTimedOut taken for `too late`", breaks.AGREE, focus=_ANSWER_LOST)
def _too_late() -> AbstractContextManager[None]:
    return replaced(Callbacks, "_traced", lambda *_: Trace(ended=True, taken=False, timed_out=False))


@mutant("a callback that only the stream sends", breaks.WAITS, breaks.AGREE, focus=UNRECORDED)
def _not_owed() -> AbstractContextManager[None]:
    return replaced(ApprovalsTable, "owed", lambda _: [])


@mutant("one slot for tokens", breaks.WAITS, focus=((r"^WaitForReview@\d#1$", (f.LATE,)),))
def _one_slot() -> AbstractContextManager[None]:
    """A late request replaces the newer one, whose state waits until its last resort."""

    def only(self: Any, request: Any) -> Any:
        row = {"approval_id": {"S": f"TOKENS#{request.approval_id}"}, "tokens": {"SS": [request.token]}}
        return {"Put": {"TableName": self.name, "Item": row}}

    return replaced(ApprovalsTable, "_add", only)


@mutant("a token in the record", breaks.TOKEN)
def _token_in_record() -> AbstractContextManager[None]:
    create = ApprovalsTable.create

    def with_token(self: Any, request: Any, *given: Any) -> Any:
        return create(self, replace_subject(request, request.token), *given)

    return replaced(ApprovalsTable, "create", with_token)


def replace_subject(request: Any, text: str) -> Any:
    return type(request)(**{**{name: getattr(request, name) for name in request.__struct_fields__}, "subject": text})


@mutant("a comment in what the machine gets", breaks.ANSWERS, breaks.PERSONAL)
def _comment() -> AbstractContextManager[None]:
    def answer(self: Any) -> str:
        words = {"APPROVED": "approve", "REJECTED": "reject", "EXPIRED": "expired"}
        known = {name: self.values.get(name) for name in ("decided_by", "approval_id", "comment")}
        return json.dumps({**known, "decision": words[self.status]})

    return replaced(Approval, "answer", property(answer))
