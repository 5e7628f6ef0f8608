"""The end of an attempt: no item stays open, the status is computed, the alarm is raised."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime

from idempotency import Contention

from .alerts import Alerts
from .errors import StaleTask, StillRunning
from .keys import TaskKey
from .running import CUT_OFF
from .state import Item, Status, Task, TaskError, status_of
from .table import TasksTable

# In each lost round an invocation began or ended an item.
_ROUNDS = 5
_PAUSE = 2
_NO_ANSWER = "its function ended without an answer; whether its work was done is unknown"


@dataclass(frozen=True, slots=True)
class Finalization:
    """Every move may be made again, by several callers at once: all find the same rows."""

    table: TasksTable
    alerts: Alerts

    def finish(
        self,
        key: TaskKey,
        attempt: int,
        at: datetime,
        *,
        errors: Mapping[int, str] | None = None,
        died: TaskError | None = None,
    ) -> Status:
        """End an attempt of which no iteration begins any more, and raise its alarm. Returns the task's status.

        An item that is open has failed, once its invocation has certainly ended.

        errors: by number, of items whose function failed. died: what cut the attempt off.
        Raises StaleTask (another attempt is the task's own), StillRunning, AlertUnsent, Contention, StoreUnavailable.
        """
        task = self.table.known(key)
        if task.attempt != attempt:
            raise StaleTask(f"{key.task_id}: attempt {attempt} is not its own")
        if not task.status.final:
            items = self._ended(task, errors or {}, died, at)
            completed = sum(item.status is Status.COMPLETED for item in items)
            status = status_of(task.total_items, completed, died=died is not None)
            values = {"completed_items": completed, "failed_items": task.total_items - completed}
            error = {"error": died.values} if died and status is not Status.COMPLETED else {}
            self.table.end(task, status, {**values, **error}, at)
            task = self.table.known(key)
        if task.attempt == attempt and task.status.final and task.open_since:
            self._raise_alarm(task)
        return task.status

    def finish_waiting(
        self,
        key: TaskKey,
        attempt: int,
        time_left: Callable[[], bool],
        *,
        errors: Mapping[int, str] | None = None,
        died: TaskError | None = None,
    ) -> Status:
        """As `finish`, after waiting for invocations that may still be working."""
        while True:
            try:
                return self.finish(key, attempt, datetime.now(UTC), errors=errors, died=died)
            except StillRunning:
                if not time_left():
                    raise
            time.sleep(_PAUSE)

    def _ended(self, task: Task, errors: Mapping[int, str], died: TaskError | None, at: datetime) -> list[Item]:
        """The items, of which nothing of the attempt can change any more."""
        for _ in range(_ROUNDS):
            items = self.table.items(task)
            left = [item for item in items if not item.ended_in(task.attempt)]
            if not left:
                return items
            busy = [item for item in left if item.busy(at)]
            for item in left:
                if item not in busy:
                    self.table.fail(task, item, _error(item, errors, died), at)
            if busy:
                raise StillRunning(f"{task.key.task_id}: {len(busy)} items may still be running")
        raise Contention(f"{task.key.task_id}: its items are being run by other calls")

    def _raise_alarm(self, task: Task) -> None:
        """At least once: a crash before the last write lets the sweep raise it again, under the same id."""
        failed = [item for item in self.table.items(task) if item.status is not Status.COMPLETED]
        now = self.table.known(task.key)
        if now.attempt != task.attempt or now.open_since is None:
            # Another call has raised it: only after that does a retry begin, to which these items may belong.
            return
        self.alerts.send(self.table.name, task, failed)
        self.table.close(task)


def _error(item: Item, errors: Mapping[int, str], died: TaskError | None) -> TaskError:
    if item.number in errors:
        return TaskError(errors[item.number], _NO_ANSWER)
    return TaskError(CUT_OFF, f"the task was cut off ({died.type})" if died else _NO_ANSWER)
