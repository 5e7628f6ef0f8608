"""The record of an approval."""

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Any

from idempotency.codec import Item, from_item
from idempotency.payloads import canonical_json
from runtime.text import comparable_name

# Step Functions frees an execution's name 90 days after it closed, which is after its approval ended.
_NAME_HELD = timedelta(days=90)


class Status(StrEnum):
    WAITING = "WAITING"
    APPROVED = "APPROVED"
    REJECTED = "REJECTED"
    EXPIRED = "EXPIRED"
    CANCELLED = "CANCELLED"


DECISIONS: Mapping[str, Status] = {"approve": Status.APPROVED, "reject": Status.REJECTED, "expired": Status.EXPIRED}
"""Answers to a waiting state, and their statuses. CANCELLED is no decision: no state waits any more."""
_WORDS = {status: word for word, status in DECISIONS.items()}


@dataclass(frozen=True, slots=True)
class Approval:
    """The record of an approval, without its tokens. values: as JSON values."""

    values: Mapping[str, Any]

    @classmethod
    def of(cls, row: Item) -> "Approval":
        """Read an approval from DynamoDB's own JSON."""
        return cls(from_item(row))

    @property
    def id(self) -> str:
        return str(self.values["approval_id"])

    @property
    def status(self) -> Status:
        return Status(self.values["status"])

    @property
    def group(self) -> str:
        return str(self.values["group"])

    @property
    def four_eyes(self) -> bool:
        """True if a person other than `requested_by` must decide. Records of earlier releases lack this."""
        return bool(self.values.get("four_eyes", True))

    def requested_by(self, name: str) -> bool:
        """Check whether a person has requested the approval, in any spelling of the name."""
        return comparable_name(name) == comparable_name(str(self.values["requested_by"]))

    @property
    def execution_arn(self) -> str:
        return str(self.values["execution_arn"])

    @property
    def payload_hash(self) -> str:
        return str(self.values["payload_hash"])

    @property
    def due_at(self) -> datetime:
        """The moment from which on nobody may decide."""
        return datetime.fromisoformat(self.values["due_at"])

    @property
    def asked_at(self) -> datetime:
        """Time of the last request by a state."""
        return datetime.fromisoformat(self.values["asked_at"])

    @property
    def requests(self) -> int:
        """Number of requests by states. Each one may have brought a token."""
        return int(self.values["requests"])

    @property
    def round(self) -> int:
        """Number of times that people were asked: again if a cancelled execution is redriven."""
        return int(self.values["round"])

    @property
    def ended_at(self) -> str | None:
        """Time of the end in ISO 8601; None while the approval waits."""
        ended: str | None = self.values.get("decided_at") or self.values.get("cancelled_at")
        return ended

    @property
    def owed_since(self) -> datetime | None:
        """The moment since which a state may wait for the decision; None if none does."""
        since = self.values.get("owed_since")
        return datetime.fromisoformat(since) if since else None

    @property
    def took_effect(self) -> bool | None:
        """True if the execution continued with the decision, False if not; None until that is known."""
        return self.values.get("took_effect")

    @property
    def command(self) -> str:
        """The command that shows the approval to a person. It decides nothing."""
        end_of_options = "-- " if self.id.startswith("-") else ""
        return f"./stepwise approvals show {end_of_options}{shlex.quote(self.id)}"

    @property
    def answer(self) -> str:
        """The answer to the waiting state, as JSON. A comment never enters a history."""
        decided_by = self.values.get("decided_by")
        return canonical_json({"decision": _WORDS[self.status], "decided_by": decided_by, "approval_id": self.id})

    def over(self, at: datetime) -> bool:
        """Check that it ended so long ago that a new execution may have the name of its execution."""
        return self.ended_at is not None and datetime.fromisoformat(self.ended_at) + _NAME_HELD <= at
