"""The end of an attempt: no item stays open, the status is computed, the alarm is raised, subscribers are notified."""

import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from idempotency import Contention
from runtime.notices import Notice, changed_status
from runtime.streams import Record
from runtime.transient import transient_as

from .errors import AlertUnsent, StaleTask, StillRunning
from .state import CUT_OFF, Item, Status, Task, TaskError, TaskKey, status_of
from .table import TasksTable

MAX_MESSAGE = 1024
_SHOWN = 10
_THROTTLED = frozenset(
    {"KMSThrottlingException", "Throttled", "ThrottledException", "Throttling", "ThrottlingException"}
)
# A round is lost if an invocation began or ended an item meanwhile.
_ROUNDS = 5
_PAUSE = 2
_NO_ANSWER = "its function ended without an answer; whether its work was done is unknown"
_CUT_OFF_MESSAGE = "its execution ended without finishing it"


def death(error: str) -> TaskError:
    """Build the error of a task that was cut off. error: the error of its execution, or of its message."""
    return TaskError(error, _CUT_OFF_MESSAGE)


@dataclass(frozen=True, slots=True)
class Alerts:
    """Publishes alarms. client: returns a `boto3.client("sns")`. topic: the ARN."""

    client: Callable[[], Any]
    topic: str

    def send(self, table: str, task: Task, failed: Sequence[Item]) -> None:
        """Publish the alarm of a task that has ended. It names items and error types, never messages.

        Raises AlertUnsent.
        """
        key = task.key.row
        content = {"error_message": _message(task, failed)[:MAX_MESSAGE], "execution": task.key.execution(task.attempt)}
        document = {
            "action": "sfn-alarm",
            "id": f"{key['pk']}#{key['sk']}",
            "table": table,
            **key,
            "tenant_code": task.key.tenant_code,
            "content": content,
        }
        with transient_as(AlertUnsent, "SNS", _THROTTLED):
            self.client().publish(TopicArn=self.topic, Message=json.dumps(document))


def _message(task: Task, failed: Sequence[Item]) -> str:
    named = ", ".join(f"{item.number:04} {item.error.type if item.error else ''}" for item in failed[:_SHOWN])
    more = f" and {len(failed) - _SHOWN} more" if len(failed) > _SHOWN else ""
    died = task.values.get("error")
    reason = f"; the task died of {died['type']}" if died else ""
    return f"{task.status}: {len(failed)} of {task.total_items} items failed{reason}: {named}{more}"


@dataclass(frozen=True, slots=True)
class Finalization:
    """Finalizes attempts. Every write may be repeated, by several callers at once: all find the same rows."""

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
        """End an attempt in which no further iteration begins, and raise its alarm. Returns the task's status.

        An open item has failed, once its invocation has certainly ended.

        errors: by number, of items whose function failed. died: what cut the attempt off.
        Raises StaleTask (the task has another current attempt), StillRunning, AlertUnsent, Contention,
        StoreUnavailable.
        """
        task = self.table.known(key)
        if task.attempt != attempt:
            raise StaleTask(f"{key.task_id}: attempt {attempt} is not its own")
        if not task.final:
            items = self._ended(task, errors or {}, died, at)
            completed = sum(item.status is Status.COMPLETED for item in items)
            status = status_of(task.total_items, completed, died=died is not None)
            values = {"completed_items": completed, "failed_items": task.total_items - completed}
            error = {"error": died.values} if died and status is not Status.COMPLETED else {}
            self.table.end(task, status, {**values, **error}, at)
            task = self.table.known(key)
        if task.attempt == attempt and task.final and task.open_since:
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
        check: Callable[[], None] = lambda: None,
    ) -> Status:
        """Like `finish`, after waiting for invocations that may still be working.

        check: called before the first try, and again after the wait, which may take a minute; its errors propagate.
        """
        while True:
            check()
            try:
                return self.finish(key, attempt, datetime.now(UTC), errors=errors, died=died)
            except StillRunning:
                if not time_left():
                    raise
            self._wait(key, attempt, time_left)

    def _wait(self, key: TaskKey, attempt: int, time_left: Callable[[], bool]) -> None:
        """Wait until no invocation of the attempt can still be running, or time is up. Reads only the table."""
        while time_left():
            time.sleep(_PAUSE)
            task, at = self.table.known(key), datetime.now(UTC)
            if task.attempt != attempt or not any(item.busy(at) for item in self.table.items(task)):
                return

    def _ended(self, task: Task, errors: Mapping[int, str], died: TaskError | None, at: datetime) -> list[Item]:
        """Return the items, which nothing in the attempt can change any more."""
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
        """Raise the alarm, at least once: after a crash before the last write, the sweep repeats it, with one id."""
        failed = [item for item in self.table.items(task) if item.status is not Status.COMPLETED]
        now = self.table.known(task.key)
        if now.attempt != task.attempt or now.open_since is None:
            # Another call has raised it: a retry, to which these items may belong, begins only after that.
            return
        self.alerts.send(self.table.name, task, failed)
        self.table.close(task)


def _error(item: Item, errors: Mapping[int, str], died: TaskError | None) -> TaskError:
    if item.number in errors:
        return TaskError(errors[item.number], _NO_ANSWER)
    return TaskError(CUT_OFF, f"the task was cut off ({died.type})" if died else _NO_ANSWER)


def notice_of(record: Record) -> Notice | None:
    """Return the notice of a change of TasksTable; None unless it ended an attempt. Raising the alarm does not."""
    row = changed_status(record)
    if row is None or row["kind"]["S"] != "task":
        return None
    task = Task.of(row)
    if not task.final:
        return None
    data = {name: task.values[name] for name in ("total_items", "completed_items", "failed_items")}
    return Notice(
        type="task",
        tenant_code=task.key.tenant_code,
        id=task.key.task_id,
        status=str(task.status),
        occurred_at=task.values["ended_at"],
        attempt=task.attempt,
        data={"task_type": task.type, **data},
    )
