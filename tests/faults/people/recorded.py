"""Judges the writes of applications and approvals, one by one."""

import hashlib
import json
from datetime import datetime
from typing import TYPE_CHECKING

from tests.faults.actors.engine import START
from tests.faults.actors.rows import plain
from tests.faults.people import invariants as i
from tests.faults.people.plan import PERSONAL
from tests.faults.people.standing import Standing
from tests.faults.seams import Document

if TYPE_CHECKING:
    from tests.faults.people.run import Run

FINAL = {"APPROVED", "REJECTED", "FAILED"}
_TOKEN = "token-"
_CLAIMED = "DOCUMENT#"


class Recorded(Standing):
    """Judges writes. approvals: rows by id. told: those whose token was stored.

    went_on: results of waiting states, by approval.
    """

    def __init__(self, run: "Run") -> None:
        super().__init__(run)
        self.approvals: dict[str, Document] = {}
        self.told: set[str] = set()
        self.went_on: dict[str, Document] = {}

    def due(self, row: Document) -> float:
        """Return when an approval is due, in seconds of the run."""
        return (datetime.fromisoformat(row["due_at"]) - START).total_seconds()

    def passes(self, what: str, text: str, *, tokens: bool = False) -> None:
        """Judge a text that a machine, a notice or a response carries. tokens: whether it may contain one."""
        if any(part in text for part in PERSONAL):
            self.broken(i.PERSONAL, f"{what}: {text[:200]}")
        if _TOKEN in text and not tokens:
            self.broken(i.TOKEN, f"{what}: {text[:200]}")

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """Judge a written row; its transaction may still be running."""
        before, row = (plain(old) if old else None), (plain(new) if new else None)
        if table == "ApplicationsTable" and row:
            self._wrote_application(before, row)
        elif table == "ApprovalsTable":
            self._wrote_approval(before, row)
        elif table == "ScreeningTable" and row and row["pk"].startswith(_CLAIMED):
            self._claimed(row)
        else:
            self.stands(table, before, row)

    def _wrote_application(self, before: Document | None, row: Document) -> None:
        own_id = row["application_id"]
        self.applications[own_id] = row
        pinned = (before or {}).get("document_version")
        if pinned and pinned != row.get("document_version"):
            self.broken(i.PINNED, f"{own_id} notes {row.get('document_version')}, and noted {pinned}")
        if before and before["status"] in FINAL and row["status"] != before["status"]:
            self.broken(i.FINAL, f"{own_id} was {before['status']}, and is {row['status']}")
        if row["status"] in FINAL and (before is None or before["status"] != row["status"]):
            self.run.say(f"application {own_id} {row['status']} {row.get('reason') or ''}")
            self.decided.append(own_id)

    def document(self, own_id: str) -> bytes | None:
        """Return the pinned version of an application's document; None if none is pinned."""
        row = self.applications[own_id]
        versions = self.run.engine.versions(row["document_key"])
        return next((one["data"] for one in versions if one["version_id"] == row.get("document_version")), None)

    def _claimed(self, row: Document) -> None:
        """Judge the check of a document."""
        pinned = self.document(row["application_id"])
        if pinned is None or row["pk"] != _CLAIMED + hashlib.sha256(pinned).hexdigest():
            self.broken(i.PINNED, f"{row['application_id']} is checked by another version than the one it notes")

    def _wrote_approval(self, before: Document | None, row: Document | None) -> None:
        own_id = (row or before or {})["approval_id"]
        if "#" in own_id:
            self.told.add(own_id.partition("#")[2])
            return
        if row is None:
            return
        self.passes("the record of an approval", json.dumps({**row, "subject": ""}))
        self.approvals[own_id] = row
        if before is None:
            self.new.append(own_id)
            return
        was, now = before["status"], row["status"]
        if row["round"] > before["round"] and (was == "CANCELLED" or self.run.months_passed):
            # People are asked again: by a redriven execution, or by another one that reuses the freed name.
            self.run.say(f"approval {own_id} waits again")
            self.went_on.pop(own_id, None)
        elif was != now:
            self.run.say(f"approval {own_id} {was} -> {now} by {row.get('decided_by')}")
            self._judge_change(own_id, before, row)
        elif was != "WAITING" and any(before.get(one) != row.get(one) for one in ("decided_by", "decided_at")):
            self.broken(i.ONCE, f"{own_id} was decided by {before.get('decided_by')}, now {row.get('decided_by')}")
        elif before.get("took_effect") is not None and row.get("took_effect") != before["took_effect"]:
            self.broken(i.ONCE, f"took_effect of {own_id} from {before['took_effect']} to {row.get('took_effect')}")

    def _judge_change(self, own_id: str, before: Document, row: Document) -> None:
        was, now = before["status"], row["status"]
        if was != "WAITING":
            self.broken(i.ONCE, f"{own_id} was {was}, and is {now}")
        if now == "EXPIRED" and self.run.simulation.now < self.due(row):
            self.broken(i.EXPIRY, f"{own_id} expires {self.due(row) - self.run.simulation.now:.1f} s early")
        if now in {"APPROVED", "REJECTED"} and row["decided_by"] in self.run.plan.barred:
            self.broken(i.EYES, f"{own_id} is {now} by {row['decided_by']}")
        if now in {"APPROVED", "REJECTED"} and row["decided_at"] >= row["due_at"]:
            self.broken(i.EXPIRY, f"{own_id} is {now} at {row['decided_at']}, and was due at {row['due_at']}")

    def moment(self) -> None:
        """Judge the rows after a request, which has made all of its writes, or none."""
        super().moment()
        while self.new:
            self.run.waits(self.new.pop())
