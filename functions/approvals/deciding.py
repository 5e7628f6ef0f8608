"""A person decides: not the one who requested the approval. Who may decide else is who may call the function."""

from dataclasses import dataclass
from datetime import datetime

from idempotency import Contention

from .errors import AlreadyDecided, ApprovalCancelled, ApprovalExpired, ApprovalNotFound, OwnRequest
from .request import DecideRequest
from .state import DECISIONS, Approval, Status
from .table import ApprovalsTable

type Answer = dict[str, str]


@dataclass(frozen=True, slots=True)
class Deciding:
    table: ApprovalsTable

    def decide(self, request: DecideRequest, at: datetime) -> Answer:
        """Decide once. The same decision again, by anybody, gets the same answer, and changes nothing.

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
    # One that is WAITING failed the condition because it is due: the sweep has not run yet.
    if found.status in (Status.EXPIRED, Status.WAITING):
        raise ApprovalExpired(f"{found.id}: was due at {found.due_at.isoformat()}")
    raise AlreadyDecided(f"{found.id}: is {found.status} since {found.ended_at}")
