"""The record of a lease: what DynamoDB keeps of one piece of work."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """What is known of a piece of work."""

    IN_PROGRESS = "IN_PROGRESS"
    """Somebody has the lease; once it has run out, the outcome is unknown."""
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    """It ended in a final error, which duplicates get too."""
    RELEASED = "RELEASED"
    """Nothing has happened; the key is free."""
    UNKNOWN = "UNKNOWN"
    """An attempt broke off, and may have taken effect; the next one finds out, or runs again."""
    HELD = "HELD"
    """As UNKNOWN, but a person has to find out."""

    @property
    def decided(self) -> bool:
        """Whether it is certain what has happened."""
        return self in (Status.COMPLETED, Status.FAILED, Status.RELEASED)


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """One lease record.

    key: `<key>#<work>`. attempt: counts owners, from 1. lease_until: aware UTC. Other times: ISO 8601.
    result: as JSON text; None if there is none, or if it could not be stored.
    error: class name and message of the final error. audit: what operators did, oldest first.
    expires_at: epoch seconds; None while the record must not go.
    A record that is taken anew after it has expired, and before DynamoDB has deleted it, keeps attempt, created_at and
    audit of its former life: one write cannot tell whether to drop them.
    """

    key: str
    status: Status
    owner: str
    attempt: int
    payload_hash: str
    lease_until: datetime
    created_at: str
    updated_at: str
    result: str | None
    error: tuple[str, str] | None
    audit: tuple[Mapping[str, str], ...]
    expires_at: int | None

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> "LeaseRecord":
        """Read a record from DynamoDB's own JSON."""
        return cls(
            key=item["pk"]["S"],
            status=Status(item["status"]["S"]),
            owner=item["owner"]["S"],
            attempt=int(item["attempt"]["N"]),
            payload_hash=item["payload_hash"]["S"],
            lease_until=datetime.fromtimestamp(int(item["lease_until"]["N"]) / 1000, UTC),
            created_at=item["created_at"]["S"],
            updated_at=item["updated_at"]["S"],
            result=item["result"]["S"] if "result" in item else None,
            error=_error(item["error"]["M"]) if "error" in item else None,
            audit=tuple(_strings(entry["M"]) for entry in item["audit"]["L"]) if "audit" in item else (),
            expires_at=int(item["expires_at"]["N"]) if "expires_at" in item else None,
        )

    def in_progress(self, now: datetime) -> bool:
        """Whether the owner may still be at work."""
        return self.status is Status.IN_PROGRESS and now < self.lease_until

    def is_written(self, owner: str, attempt: int, status: Status, more: Mapping[str, Any]) -> bool:
        """Whether it says what this owner would write: not only that the work is done, but with what result."""
        error = more.get("error", {})
        meant = (owner, attempt, status, more.get("result"), (error["name"], error["message"]) if error else None)
        return (self.owner, self.attempt, self.status, self.result, self.error) == meant

    def expired(self, now: datetime) -> bool:
        """Whether the record is to be ignored, although DynamoDB has not deleted it yet."""
        return self.expires_at is not None and self.expires_at <= int(now.timestamp())


def is_lease(item: Mapping[str, Any]) -> bool:
    """Tell a lease's record from a step's in the same table."""
    return "attempt" in item


def _error(error: Mapping[str, Any]) -> tuple[str, str]:
    return error["name"]["S"], error["message"]["S"]


def _strings(entry: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: value["S"] for name, value in entry.items()}
