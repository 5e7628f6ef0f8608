"""Judges the messages to machines and people, and the rows at the end."""

import json
from datetime import datetime
from typing import TYPE_CHECKING

from tests.faults.actors.engine import START
from tests.faults.people import invariants as i
from tests.faults.people.plan import PDF
from tests.faults.people.recorded import FINAL, Recorded
from tests.faults.seams import Document

if TYPE_CHECKING:
    from tests.faults.people.run import Run

_WORDS = {"APPROVED": "approve", "REJECTED": "reject", "EXPIRED": "expired"}
# Due callbacks are swept after a minute.
_GRACE, _SWEEPS = 61, 2


class Judge(Recorded):
    """Judges applications. ends: the statuses of executions, by machine and name."""

    def __init__(self, run: "Run") -> None:
        super().__init__(run)
        self.ends: dict[tuple[str, str], str] = {}

    # Messages to machines and people

    def submitted(self, request: Document, body: Document) -> None:
        """Judge a response of SubmitApplication."""
        row = self.applications.get(request["application_id"])
        right = body.get("status") in {"SUBMITTED", "duplicate"} and body["application_id"] == request["application_id"]
        if not right or row is None or row["name"] != request["name"]:
            self.broken(i.ANSWERS, f"{request['application_id']} is answered with {body}")

    def mismatched(self, request: Document) -> None:
        """Judge a refusal of SubmitApplication for a different payload."""
        row = self.applications.get(request["application_id"])
        if row is None or row["name"] == request["name"]:
            self.broken(i.ANSWERS, f"{request['application_id']} is refused as another payload")

    def barred(self, request: Document) -> bool:
        """True if a manually started recovery has barred an application that was not submitted."""
        return self.run.meddled and request["application_id"] not in self.applications

    def published(self, message: str) -> None:
        """Check that every notified approval has its token stored."""
        self.passes("a notice", message)
        for approval_id in (one for one in self._named(message) if one not in self.told):
            self.broken(i.KNOWN, f"somebody is told of {approval_id}, and its token is not stored")

    def _named(self, message: str) -> list[str]:
        executions = [one.request["application_id"] for one in self.run.plan.applications]
        ids = [f"account-opening.{own_id}.review" for own_id in executions]
        return [one for one in ids if one in message]

    def resumed(self, result: Document) -> None:
        """Judge the result that a waiting state got."""
        self.passes("a decision", json.dumps(result))
        if set(result) != {"decision", "decided_by", "approval_id"}:
            self.broken(i.ANSWERS, f"the waiting state gets {sorted(result)}")
        self.went_on[result["approval_id"]] = result
        row = self.applications[result["approval_id"].split(".")[1]]
        if row["status"] in FINAL and not self.run.meddled:
            self.broken(i.REVIEWS, f"a state gets {result['decision']}, and its application is {row['status']}")

    def waited_in_vain(self, execution: str) -> None:
        """Judge a state that reached its last resort. Two sweeps send a callback: the first may come too early."""
        own_id = f"account-opening.{execution}.review"
        row = self.approvals.get(own_id)
        if row and "decided_at" in row:
            since = (datetime.fromisoformat(row["decided_at"]) - START).total_seconds()
            if sum(moment > since + _GRACE for moment in self.run.swept["SweepApprovals"]) >= _SWEEPS:
                self.broken(i.WAITS, f"{own_id} is {row['status']}, and its state waits until it times out")

    def ended(self, detail: Document) -> None:
        """Note that an execution has ended."""
        for name in ("input", "output", "error", "cause"):
            self.passes(f"the {name} of an execution", detail.get(name) or "")
        self.ends[detail["stateMachineArn"].rpartition(":")[2], detail["name"]] = detail["status"]

    # The end.

    def at_rest(self) -> bool:
        """True if everything has ended."""
        return (
            all(row["status"] in FINAL and "unsettled" not in row for row in self.applications.values())
            and all(row["status"] != "WAITING" and "owed_since" not in row for row in self.approvals.values())
            and all(one["status"] != "RUNNING" for one in self.run.engine.executions())
        )

    def at_last(self) -> None:
        for one in self.run.engine.executions():
            if one["status"] == "RUNNING":
                self.broken(i.WAITS, f"{one['executionArn'].rpartition('execution:')[2]} is RUNNING")
        for own_id, row in self.approvals.items():
            self._judge_approval(own_id, row)
        for own_id, row in self.applications.items():
            self.judge_end(own_id, row)
            self._judge_same(own_id, row)
        if self.run.plan.crowded and not (self.run.meddled or self.run.months_passed):
            self._judge_limit()

    def _judge_limit(self) -> None:
        approved = [own_id for own_id, row in self.applications.items() if row["status"] == "APPROVED"]
        alone = [own_id for own_id in approved if f"account-opening.{own_id}.review" not in self.approvals]
        if len(alone) > 1:
            self.broken(i.LIMIT, f"{' and '.join(alone)} are approved, and nobody was asked")

    def _judge_approval(self, own_id: str, row: Document) -> None:
        got, status, effect = self.went_on.get(own_id), row["status"], row.get("took_effect")
        if status == "WAITING":
            self.broken(i.WAITS, f"{own_id} is WAITING")
        wanted = None if effect is False or status == "CANCELLED" else _WORDS.get(status)
        found = (got["decision"], got["decided_by"]) if got else (None, None)
        if found != (wanted, row.get("decided_by") if wanted else None):
            self.broken(i.AGREE, f"{own_id} is {status} with took_effect {effect}, and the execution got {got}")

    def _judge_same(self, own_id: str, row: Document) -> None:
        status, opening = row["status"], self.ends.get((self.run.engine.MACHINE, own_id))
        approval = self.approvals.get(f"account-opening.{own_id}.review")
        if approval and approval["round"] > 1:
            approval = None
        decided = approval["status"] if approval and approval.get("took_effect") is not False else None
        allowed = {"SUCCEEDED": {"APPROVED", "REJECTED"}}.get(opening or "", FINAL)
        if self.ends.get((self.run.engine.SETUP, own_id)) == "SUCCEEDED":
            allowed = {"APPROVED"}
        if self.run.meddled:
            return
        if status not in allowed or (approval and status != "FAILED" and status != _FOLLOWS.get(decided)):
            self.broken(i.SAME, f"{own_id} is {status}, its execution {opening}, its approval {decided}")
        if self.run.only_throttled:
            self._judge_outcome(own_id, status, decided)

    def _judge_outcome(self, own_id: str, status: str, decided: str | None) -> None:
        """Judge the outcome of a schedule without faults other than throttling."""
        flagged = not (self.document(own_id) or b"").startswith(PDF)
        wanted = _FOLLOWS.get(decided) if flagged or decided else "APPROVED"
        same = [one for one in self.customers.values() if one["application_id"] != own_id]
        if bool(decided) != flagged and not (same or self.run.plan.crowded):
            self.broken(i.OUTCOME, f"{own_id} is decided by {decided}, and its document is {self.document(own_id)!r}")
        if status != wanted and not (status == "FAILED" and same):
            self.broken(i.OUTCOME, f"{own_id} is {status}, and should be {wanted}")


_FOLLOWS = {"APPROVED": "APPROVED", "REJECTED": "REJECTED", "EXPIRED": "REJECTED"}
