"""A person decides. Who may is a matter of who may call the function; the group is for lists and notices."""

from dataclasses import dataclass
from datetime import datetime

from .errors import AlreadyDecided, ApprovalCancelled, ApprovalExpired, ApprovalNotFound
from .request import DecideRequest
from .state import DECISIONS, Approval, Status
from .table import ApprovalsTable

type Answer = dict[str, str]


@dataclass(frozen=True, slots=True)
class Deciding:
    table: ApprovalsTable

    def decide(self, request: DecideRequest, at: datetime) -> Answer:
        """Decide once. The same decision again, by anybody, gets the same answer, and changes nothing.

        Returns {"approval_id", "status"}. Raises ApprovalNotFound, AlreadyDecided, ApprovalExpired, ApprovalCancelled.
        """
        status = DECISIONS[request.decision]
        why = {"comment": request.comment} if request.comment else {}
        outcome = self.table.decide(request.approval_id, status, at, decided_by=request.decided_by, **why)
        if not outcome.applied:
            if outcome.old is None:
                raise ApprovalNotFound(f"approval_id: there is no approval {request.approval_id}")
            _check_same(Approval.of(outcome.old), status)
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
