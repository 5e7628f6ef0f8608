"""The record of a lease, as DynamoDB stores it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any


class Status(StrEnum):
    """The known outcome of the work."""

    IN_PROGRESS = "IN_PROGRESS"
    """An invocation has the lease; once it expires, the outcome is unknown."""
    COMPLETED = "COMPLETED"
    FAILED = "FAILED"
    """It ended with a final error, which duplicates get."""
    RELEASED = "RELEASED"
    """Nothing has happened; the key is free."""
    UNKNOWN = "UNKNOWN"
    """An attempt was interrupted and may have taken effect; the next one finds out, or runs again."""
    HELD = "HELD"
    """Like UNKNOWN, but an operator must find out."""

    @property
    def decided(self) -> bool:
        """True if the outcome is certain."""
        return self in (Status.COMPLETED, Status.FAILED, Status.RELEASED)


@dataclass(frozen=True, slots=True)
class LeaseRecord:
    """One lease record.

    key: `<key>#<work>`. attempt: counts owners, from 1. lease_until: aware UTC. Other times: ISO 8601.
    payload_hash, payload_hash_v2: the attributes of a `PayloadHash`.
    result: as JSON text; None if there is none or it could not be stored.
    error: class name and message of the final error. audit: decisions of operators, oldest first.
    listed: whether it is in the operators' index. expires_at: epoch seconds; None while the record must not expire.
    An expired record that is taken over before DynamoDB deletes it keeps created_at and audit, and its attempt count
    continues.
    """

    key: str
    status: Status
    owner: str
    attempt: int
    payload_hash: str
    lease_until: datetime
    created_at: str
    updated_at: str
    result: str | None = None
    error: tuple[str, str] | None = None
    audit: tuple[Mapping[str, str], ...] = ()
    listed: bool = False
    expires_at: int | None = None
    payload_hash_v2: str | None = None

    @classmethod
    def from_item(cls, item: Mapping[str, Any]) -> "LeaseRecord":
        """Read a record from DynamoDB JSON."""
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
            listed="listed" in item,
            expires_at=int(item["expires_at"]["N"]) if "expires_at" in item else None,
            payload_hash_v2=item["payload_hash_v2"]["S"] if "payload_hash_v2" in item else None,
        )

    def values(self) -> dict[str, Any]:
        """Return the item as stored in DynamoDB: attribute to value."""
        optional = {
            "result": self.result,
            "error": dict(zip(("name", "message"), self.error, strict=True)) if self.error else None,
            "audit": list(self.audit) or None,
            "listed": self.key if self.listed else None,
            "expires_at": self.expires_at,
            "payload_hash_v2": self.payload_hash_v2,
        }
        return {
            "pk": self.key,
            "status": self.status,
            "owner": self.owner,
            "attempt": self.attempt,
            "payload_hash": self.payload_hash,
            "lease_until": epoch_milliseconds(self.lease_until),
            "created_at": self.created_at,
            "updated_at": self.updated_at,
            **{name: value for name, value in optional.items() if value is not None},
        }

    @property
    def may_have_happened(self) -> bool:
        """True if the attempt may have taken effect. Only listed work can take effect before it is completed."""
        return not self.status.decided and (self.status is not Status.IN_PROGRESS or self.listed)

    def in_progress(self, now: datetime) -> bool:
        """True if the owner may still be at work."""
        return self.status is Status.IN_PROGRESS and now < self.lease_until

    def is_free(self, now: datetime) -> bool:
        """True if any request may have the key: nothing has taken effect under it, or the record has expired."""
        if self.expired(now) or self.status is Status.RELEASED:
            return True
        return self.status is Status.IN_PROGRESS and not (self.in_progress(now) or self.may_have_happened)

    def says(self, other: "LeaseRecord") -> bool:
        """True if both records have the same owner, attempt and outcome.

        An operator's decision keeps owner and attempt, and may have the same result; its audit tells it apart.
        """
        names = ("owner", "attempt", "status", "result", "error", "audit")
        return all(getattr(self, name) == getattr(other, name) for name in names)

    def expired(self, now: datetime) -> bool:
        """True if the record has expired, although DynamoDB may not have deleted it yet."""
        return self.expires_at is not None and self.expires_at <= int(now.timestamp())


def is_lease(item: Mapping[str, Any]) -> bool:
    """True for a lease record, False for a step record in the same table."""
    return "attempt" in item


def epoch_milliseconds(at: datetime) -> int:
    """Convert a time to the format of `lease_until`."""
    return round(at.timestamp() * 1000)


def _error(error: Mapping[str, Any]) -> tuple[str, str]:
    return error["name"]["S"], error["message"]["S"]


def _strings(entry: Mapping[str, Any]) -> Mapping[str, str]:
    return {name: value["S"] for name, value in entry.items()}
