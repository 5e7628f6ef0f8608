"""Rows with a status, and what they have in common."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """The status of a task or an import; an item of a task has all but COMPLETED_WITH_FAILURES."""

    CREATED = "CREATED"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    COMPLETED_WITH_FAILURES = "COMPLETED_WITH_FAILURES"
    FAILED = "FAILED"

    @property
    def final(self) -> bool:
        return self not in (Status.CREATED, Status.PROCESSING)


class Row:
    """A mixin of rows. values: the row as JSON values, as `idempotency.codec.from_item` returns it."""

    __slots__ = ()

    values: Mapping[str, Any]

    @property
    def status(self) -> Status:
        return Status(self.values["status"])

    @property
    def final(self) -> bool:
        """True if only a retry can change the row any more."""
        return self.status.final

    @property
    def open_since(self) -> datetime | None:
        """Time at which the row entered the sparse index that a sweep reads; None if it has left the index."""
        return self.time("open_since")

    @property
    def expires_at(self) -> int:
        """Expiry of the row in epoch seconds; DynamoDB deletes it afterwards."""
        return int(self.values["expires_at"])

    def expired(self, at: datetime) -> bool:
        """Check whether it has expired, although DynamoDB may not have deleted it yet."""
        return self.expires_at <= int(at.timestamp())

    def time(self, name: str) -> datetime | None:
        """Return an attribute in ISO 8601 as an aware time; None if it is not set."""
        text = self.values.get(name)
        return datetime.fromisoformat(text) if text else None
