"""Requests of waiting states, and decisions of people.

The record exists, with the state's token, before anybody is notified. The person who requested an approval must not
decide it. Otherwise, everybody who may call the function may decide.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from idempotency import Contention, PayloadMismatch
from idempotency.dynamodb import Outcome
from runtime.backoff import pause

from .errors import (
    AlreadyDecided,
    ApprovalCancelled,
    ApprovalExpired,
    ApprovalNotFound,
    InvalidApproval,
    OwnRequest,
)
from .requests import ApprovalRequest, DecideRequest
from .state import DECISIONS, Approval, Status
from .table import ApprovalsTable, Subject

_TRIES = 5

type Decided = dict[str, str]
"""{"approval_id", "status"}."""


@dataclass(frozen=True, slots=True)
class Requesting:
    """Handles requests of waiting states. subject_tables: names of tables, by logical id."""

    table: ApprovalsTable
    subject_tables: Mapping[str, str]

    def ask(self, request: ApprovalRequest, at: datetime) -> Decided:
        """Store the approval with the state's token, or add the token to those of the approval that is in effect.

        A retried or redriven state has another token. If the approval is decided already, its stream answers that
        token, too. If it is CANCELLED, the execution was redriven, and people are asked again.
        Returns {"approval_id", "status"}.
        Raises InvalidApproval, SubjectClosed, PayloadMismatch, Contention, StoreUnavailable.
        """
        subject = self._subject(request)
        outcome = self.table.create(request, at, subject)
        for number in range(1, _TRIES):
            if outcome.applied or outcome.old is None:
                break
            seen = Approval.of(outcome.old)
            outcome = self._again(seen, request, at, subject)
            if outcome.applied:
                return _result(request, Status.WAITING if _is_new(seen, at) else seen.status)
            pause(number)
        if not outcome.applied:
            raise Contention(f"{request.approval_id}: changes while a state asks for it")
        return _result(request, Status.WAITING)

    def _subject(self, request: ApprovalRequest) -> Subject | None:
        if not request.about:
            return None
        name = self.subject_tables.get(request.about.table)
        if name is None:
            raise InvalidApproval(f"about.table: must be one of {', '.join(sorted(self.subject_tables))}")
        return Subject(name, request.about.key, request.about.statuses)

    def _again(self, seen: Approval, request: ApprovalRequest, at: datetime, subject: Subject | None) -> Outcome:
        if not seen.over(at) and seen.payload_hash != request.payload_hash:
            raise PayloadMismatch(f"approval_id: {seen.id} is the approval of another request")
        if _is_new(seen, at):
            return self.table.create(request, at, subject, over=seen)
        return self.table.add_token(seen, request, at, subject)


def _is_new(seen: Approval, at: datetime) -> bool:
    return seen.over(at) or seen.status is Status.CANCELLED


def _result(request: ApprovalRequest, status: Status) -> Decided:
    return {"approval_id": request.approval_id, "status": str(status)}


@dataclass(frozen=True, slots=True)
class Deciding:
    table: ApprovalsTable

    def decide(self, request: DecideRequest, at: datetime) -> Decided:
        """Decide once. The same decision again, by anybody, gets the same response, and changes nothing.

        Returns {"approval_id", "status"}.
        Raises OwnRequest, ApprovalNotFound, AlreadyDecided, ApprovalExpired, ApprovalCancelled, Contention.
        """
        status = DECISIONS[request.decision]
        why = {"comment": request.comment} if request.comment else {}
        found = self.table.find(request.approval_id)
        if found is None:
            raise ApprovalNotFound(f"approval_id: there is no approval {request.approval_id}")
        if found.status is Status.WAITING:
            if found.four_eyes and found.requested_by(request.decided_by):
                raise OwnRequest(f"{found.id}: decided_by has requested it; another person must decide")
            outcome = self.table.decide(found, status, at, decided_by=request.decided_by, **why)
            if outcome.applied:
                return {"approval_id": found.id, "status": str(status)}
            if outcome.old is None:
                raise ApprovalNotFound(f"approval_id: there is no approval {request.approval_id}")
            found = Approval.of(outcome.old)
            if found.status is Status.WAITING and found.due_at > at:
                raise Contention(f"{found.id}: is requested again by another call")
        _check_same(found, status)
        return {"approval_id": request.approval_id, "status": str(status)}


def _check_same(found: Approval, status: Status) -> None:
    if found.status is status:
        return
    if found.status is Status.CANCELLED:
        raise ApprovalCancelled(f"{found.id}: its execution ended on {found.ended_at}; nothing waits for a decision")
    # A WAITING approval failed the condition because it is due: the sweep has not run yet.
    if found.status in (Status.EXPIRED, Status.WAITING):
        raise ApprovalExpired(f"{found.id}: was due at {found.due_at.isoformat()}")
    raise AlreadyDecided(f"{found.id}: is {found.status} since {found.ended_at}")
