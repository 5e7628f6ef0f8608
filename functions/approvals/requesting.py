"""A waiting state asks: the record exists, with the state's token, before anybody is told."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from idempotency import Contention, PayloadMismatch
from idempotency.dynamodb import Outcome
from runtime.backoff import pause

from .errors import InvalidApproval
from .request import ApprovalRequest
from .state import Approval, Status
from .table import ApprovalsTable, Subject

_TRIES = 5

type Answer = dict[str, str]


@dataclass(frozen=True, slots=True)
class Requesting:
    """subject_tables: names of tables, by logical id."""

    table: ApprovalsTable
    subject_tables: Mapping[str, str]

    def ask(self, request: ApprovalRequest, at: datetime) -> Answer:
        """Store the approval with the state's token, or add the token to those of the approval that stands.

        A state that is retried, or redriven, has another token. If the approval is decided already, its stream answers
        that token, too. If it is CANCELLED, the execution was redriven, and people are asked again.
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
                return _answer(request, Status.WAITING if _is_new(seen, at) else seen.status)
            pause(number)
        if not outcome.applied:
            raise Contention(f"{request.approval_id}: changes while a state asks for it")
        return _answer(request, Status.WAITING)

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


def _answer(request: ApprovalRequest, status: Status) -> Answer:
    return {"approval_id": request.approval_id, "status": str(status)}
