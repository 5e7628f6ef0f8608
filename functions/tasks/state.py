"""What TasksTable says of a task and its items."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from idempotency.codec import Item as Row
from idempotency.codec import from_item

from .keys import TaskKey

MACHINE, QUEUE = "machine", "queue"
"""What runs a task's items."""
QUEUE_OVER = "QueueGaveUp"
"""The error of a task whose message stopped coming. An operator can redrive the message."""


class Status(StrEnum):
    """Of a task; of an item, all but COMPLETED_WITH_FAILURES."""

    CREATED = "CREATED"
    PROCESSING = "PROCESSING"
    COMPLETED = "COMPLETED"
    COMPLETED_WITH_FAILURES = "COMPLETED_WITH_FAILURES"
    FAILED = "FAILED"

    @property
    def final(self) -> bool:
        return self not in (Status.CREATED, Status.PROCESSING)


def status_of(total: int, completed: int, *, died: bool = False) -> Status:
    """The status of a task that has ended. died: whether its execution was cut off."""
    if completed == total:
        return Status.COMPLETED
    return Status.FAILED if died or not completed else Status.COMPLETED_WITH_FAILURES


@dataclass(frozen=True, slots=True)
class TaskError:
    """Why an item failed, or what its task died of."""

    type: str
    message: str

    @property
    def values(self) -> dict[str, str]:
        return {"type": self.type, "message": self.message}


@dataclass(frozen=True, slots=True)
class Task:
    """The row of a task. values: as JSON values."""

    key: TaskKey
    values: Mapping[str, Any]

    @classmethod
    def of(cls, row: Row) -> "Task":
        """Read it from DynamoDB's own JSON."""
        values = from_item(row)
        return cls(TaskKey(values["tenant_code"], values["task_id"]), values)

    @property
    def status(self) -> Status:
        return Status(self.values["status"])

    @property
    def type(self) -> str:
        return str(self.values["task_type"])

    @property
    def attempt(self) -> int:
        return int(self.values["attempt"])

    @property
    def total_items(self) -> int:
        return int(self.values["total_items"])

    @property
    def queued(self) -> bool:
        return bool(self.values["mode"] == QUEUE)

    @property
    def gave_up(self) -> bool:
        """Whether it has ended because the queue stopped delivering its message."""
        return self.status.final and self.values.get("error", {}).get("type") == QUEUE_OVER

    @property
    def past(self) -> list[Any]:
        """Its attempts, with the one that its row shows."""
        kept = ("attempt", "status", "completed_items", "failed_items", "started_at", "ended_at", "error")
        return [*self.values["history"], {name: self.values[name] for name in kept if name in self.values}]

    @property
    def items_hash(self) -> str:
        return str(self.values["items_hash"])

    @property
    def open_since(self) -> datetime | None:
        """Since when it is in the index of those to look after: until it has ended, and its alarm is raised."""
        since = self.values.get("open_since")
        return datetime.fromisoformat(since) if since else None

    @property
    def deadline(self) -> datetime | None:
        """After it, no item of the attempt begins; None before the attempt has started."""
        until = self.values.get("deadline")
        return datetime.fromisoformat(until) if until else None

    @property
    def expires_at(self) -> int:
        return int(self.values["expires_at"])

    def expired(self, at: datetime) -> bool:
        """Whether its rows have expired, although DynamoDB may not have deleted them yet."""
        return self.expires_at <= int(at.timestamp())

    def runs(self, attempt: int) -> bool:
        """Whether this attempt is the task's own, and has not ended."""
        return self.attempt == attempt and not self.status.final


@dataclass(frozen=True, slots=True)
class Item:
    """The row of an item. values: as JSON values."""

    number: int
    values: Mapping[str, Any]

    @classmethod
    def of(cls, row: Row) -> "Item":
        """Read it from DynamoDB's own JSON."""
        return cls(int(row["sk"]["S"].rpartition("#")[2]), from_item(row))

    @property
    def status(self) -> Status:
        return Status(self.values["status"])

    @property
    def attempt(self) -> int:
        """The attempt of the task that began or ended it last."""
        return int(self.values["attempt"])

    @property
    def attempts(self) -> int:
        """How many times it was begun."""
        return int(self.values["attempts"])

    @property
    def busy_until(self) -> datetime | None:
        """When the invocation that began it last has certainly ended."""
        until = self.values.get("busy_until")
        return datetime.fromisoformat(until) if until else None

    @property
    def error(self) -> TaskError | None:
        error = self.values.get("error")
        return TaskError(error["type"], error["message"]) if error else None

    @property
    def round(self) -> int:
        """Names its work, with its key: the next one once it is certain that the work failed."""
        return int(self.values["round"])

    def ended_in(self, attempt: int) -> bool:
        """Whether nothing of this attempt can change it any more."""
        return self.status is Status.COMPLETED or (self.status is Status.FAILED and self.attempt >= attempt)

    def busy(self, at: datetime) -> bool:
        """Whether an invocation may be working on it."""
        return self.status is Status.PROCESSING and self.busy_until is not None and self.busy_until > at

    @property
    def past(self) -> list[Any]:
        """Its failures, with the one that its row shows."""
        history: list[Any] = list(self.values.get("history", []))
        if self.status is Status.FAILED:
            history.append({name: self.values[name] for name in ("attempt", "error", "ended_at")})
        return history
