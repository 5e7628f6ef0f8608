"""The rows of a task: their keys, their values, and the names of attempts."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency.codec import Item as StoredRow
from idempotency.codec import from_item
from runtime.rows import Row
from runtime.rows import Status as Status

PREFIX = "TASK#"
MACHINE, QUEUE = "machine", "queue"
"""The two ways to run a task's items."""
QUEUE_OVER = "QueueGaveUp"
"""The error of a task whose message stopped coming. An operator can redrive the message."""
CUT_OFF = "TaskCutOff"
"""The error of an item that its task could not run to its end."""


def status_of(total: int, completed: int, *, died: bool = False) -> Status:
    """Compute the status of a task that has ended. died: whether its execution was cut off."""
    if completed == total:
        return Status.COMPLETED
    return Status.FAILED if died or not completed else Status.COMPLETED_WITH_FAILURES


@dataclass(frozen=True, slots=True)
class TaskKey:
    """The key of a task's rows."""

    tenant_code: str
    task_id: str

    @property
    def pk(self) -> str:
        return f"TENANT#{self.tenant_code}"

    @property
    def row(self) -> dict[str, str]:
        return {"pk": self.pk, "sk": f"{PREFIX}{self.task_id}"}

    @property
    def claim(self) -> dict[str, str]:
        """The key of the row that says whose items are being stored while there is no task yet."""
        return {"pk": self.pk, "sk": f"CLAIM#{self.task_id}"}

    @property
    def items(self) -> str:
        """Prefix of the sort keys of its items."""
        return f"{PREFIX}{self.task_id}#"

    def item(self, number: int) -> dict[str, str]:
        """Return the key of an item. number: from 1."""
        return {"pk": self.pk, "sk": f"{self.items}{number:04}"}

    def execution(self, attempt: int) -> str:
        """Return the name of an attempt's execution; at most 46 characters."""
        return f"{self._digest[:40]}-{attempt}"

    def input(self, attempt: int) -> dict[str, Any]:
        """Return the input of that execution."""
        return {"tenant_code": self.tenant_code, "task_id": self.task_id, "attempt": attempt}

    def run(self, number: int, round: int) -> str:
        """Return the name of an item's work: the same until it is known how the work ended. At most 56 characters."""
        return f"{self._digest[:40]}-{number}-{round}"

    @property
    def _digest(self) -> str:
        return hashlib.sha256(f"{self.tenant_code}\n{self.task_id}".encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class TaskError:
    """The error of an item, or the error that ended its task."""

    type: str
    message: str

    @property
    def values(self) -> dict[str, str]:
        return {"type": self.type, "message": self.message}


@dataclass(frozen=True, slots=True)
class Task(Row):
    """The row of a task. It is open until it has ended, and its alarm is raised. values: as JSON values."""

    key: TaskKey
    values: Mapping[str, Any]

    @classmethod
    def of(cls, row: StoredRow) -> "Task":
        """Read a task from DynamoDB's own JSON."""
        values = from_item(row)
        return cls(TaskKey(values["tenant_code"], values["task_id"]), values)

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
        """True if it ended because the queue stopped delivering its message."""
        return self.final and self.values.get("error", {}).get("type") == QUEUE_OVER

    @property
    def past(self) -> list[Any]:
        """Attempts of the task, including the current one."""
        kept = ("attempt", "status", "completed_items", "failed_items", "started_at", "ended_at", "error")
        return [*self.values["history"], {name: self.values[name] for name in kept if name in self.values}]

    @property
    def items_hash(self) -> str:
        return str(self.values["items_hash"])

    @property
    def deadline(self) -> datetime | None:
        """The moment after which no item of the attempt begins; None before the attempt has started."""
        return self.time("deadline")

    def runs(self, attempt: int) -> bool:
        """Check that this attempt is the task's current one, and has not ended."""
        return self.attempt == attempt and not self.final


@dataclass(frozen=True, slots=True)
class Item(Row):
    """The row of an item. values: as JSON values."""

    number: int
    values: Mapping[str, Any]

    @classmethod
    def of(cls, row: StoredRow) -> "Item":
        """Read an item from DynamoDB's own JSON."""
        values = from_item(row)
        return cls(int(values["sk"].rpartition("#")[2]), values)

    @property
    def attempt(self) -> int:
        """The attempt of the task that last began or ended it."""
        return int(self.values["attempt"])

    @property
    def attempts(self) -> int:
        """Number of times it was begun."""
        return int(self.values["attempts"])

    @property
    def error(self) -> TaskError | None:
        error = self.values.get("error")
        return TaskError(error["type"], error["message"]) if error else None

    @property
    def round(self) -> int:
        """Part of its work's name: the next number once it is certain that the work failed."""
        return int(self.values["round"])

    def ended_in(self, attempt: int) -> bool:
        """Check that nothing in this attempt can change it any more."""
        return self.status is Status.COMPLETED or (self.status is Status.FAILED and self.attempt >= attempt)

    def busy(self, at: datetime) -> bool:
        """Check whether the invocation that last began it may be working on it."""
        until = self.time("busy_until")
        return self.status is Status.PROCESSING and until is not None and until > at

    @property
    def past(self) -> list[Any]:
        """Failures of the item, including the current one."""
        history: list[Any] = list(self.values.get("history", []))
        if self.status is Status.FAILED:
            history.append({name: self.values[name] for name in ("attempt", "error", "ended_at")})
        return history
