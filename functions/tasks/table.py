"""All access to TasksTable."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched
from typing import Any, ClassVar

from idempotency import Action
from runtime.table import NEW, Table

from .errors import StaleTask
from .state import MACHINE, Item, Status, Task, TaskError, TaskKey

OPEN_SINCE = "open_since"
"""Attribute, and sparse index, of the tasks that have not ended, or whose alarm was not raised yet."""
# A transaction takes 100 actions; two are for the claim and for the task's own row.
AT_ONCE = 98
_CLAIMED = "#items_hash = :items_hash AND #created_at = :created_at"
_FREE = "attribute_not_exists(#pk) OR #items_hash <> :items_hash OR #created_at < :joined"
# Longer than any invocation.
_JOINED_WITHIN = timedelta(hours=1)
_AS_SEEN = "#status = :seen AND #attempt = :seen_attempt AND #attempts = :seen_attempts"
_RUNS = "#attempt = :own AND #status IN (:created, :processing)"
_ENDED = "#attempt = :own AND NOT #status IN (:created, :processing)"
_OPEN = {"created": str(Status.CREATED), "processing": str(Status.PROCESSING)}
_NEW_ITEM = {"kind": "task_item", "status": Status.CREATED, "attempt": 1, "attempts": 0, "history": []}
# An item has up to 4 KiB, and a result of as much.
_PAGE = 200


@dataclass(frozen=True, slots=True)
class NewTask:
    """A task to be stored.

    values: attributes of its row as the caller gave them. lifetime: of all its rows, and of items that an interrupted
    creation has left.
    """

    key: TaskKey
    values: Mapping[str, Any]
    items: Sequence[Mapping[str, Any]]
    items_hash: str
    lifetime: timedelta
    mode: str = MACHINE

    @property
    def claimed(self) -> bool:
        """True if several transactions store it, under a claim."""
        return len(self.items) > AT_ONCE

    def times(self, at: datetime) -> dict[str, Any]:
        """Return the times of all its rows."""
        expires_at = int((at + self.lifetime).timestamp())
        return {"created_at": at.isoformat(), "updated_at": at.isoformat(), "expires_at": expires_at}


@dataclass(frozen=True, slots=True)
class TasksTable(Table):
    FRACTIONS: ClassVar[bool] = True

    def find(self, key: TaskKey) -> Task | None:
        """Read the row of a task, consistently."""
        row = self.row(key.row)
        return Task.of(row) if row else None

    def known(self, key: TaskKey) -> Task:
        """Like `find`, but raises StaleTask if there is no such task."""
        found = self.find(key)
        if found is None:
            raise StaleTask(f"{key.task_id}: no such task")
        return found

    def with_item(self, key: TaskKey, number: int) -> tuple[Task, Item]:
        """Read a task and one of its items, in one call. Raises StaleTask."""
        task, item = self.rows(key.row, key.item(number))
        if task is None or item is None or number > (found := Task.of(task)).total_items:
            raise StaleTask(f"{key.task_id}#{number:04}: no such item")
        return found, Item.of(item)

    def items(self, task: Task) -> list[Item]:
        """Read the items of a task, in order, consistently; without those of an interrupted creation."""
        found = map(Item.of, self.read_partition(task.key.pk, task.key.items, page=_PAGE))
        return [item for item in found if item.number <= task.total_items]

    def open(self) -> Iterator[Task]:
        """Yield the tasks to look after, from the index, which may be late."""
        return map(Task.of, self.read_index(OPEN_SINCE))

    # Creation

    def create(self, new: NewTask, at: datetime) -> bool:
        """Store all items, then the task. False if the task exists, or another call is creating it."""
        begun = self._claim(new, at) if new.claimed else at
        return begun is not None and all(self.transact(actions) is None for actions in self._transactions(new, begun))

    def claims_other_items(self, new: NewTask) -> bool:
        """True if a call with other items is creating the task."""
        claim = self.row(new.key.claim)
        return claim is not None and claim["items_hash"]["S"] != new.items_hash

    def _claim(self, new: NewTask, at: datetime) -> datetime | None:
        """Claim the id for these items. Returns when their creation began; None if the task exists.

        Calls with the same items join a creation that began a short time ago, and write the same rows. Any other claim
        is replaced. Its caller may still be about to write: its rows have another time, so they are refused.
        """
        claim = {**new.key.claim, "kind": "claim", "items_hash": new.items_hash, **new.times(at)}
        seen = {"items_hash": new.items_hash, "joined": (at - _JOINED_WITHIN).isoformat()}
        put = self.put_action(claim, _FREE, seen)
        cancelled = self.transact([self.check_action(new.key.row, NEW), put])
        if cancelled is None:
            return at
        other = None if 0 in cancelled.refusals else cancelled.refusals[1].item
        return datetime.fromisoformat(other["created_at"]["S"]) if other else None

    def _transactions(self, new: NewTask, at: datetime) -> Iterator[list[Action]]:
        """Yield the transactions. The last one writes the task. If there are several, each checks the claim."""
        key, times = new.key, new.times(at)
        # Leases of an older task of this id may outlive it. The round names the work of a new one.
        common_of_items = {**_NEW_ITEM, "round": int(at.timestamp()), **times}
        puts = (
            self.put_action({**key.item(number), "item": item, **common_of_items})
            for number, item in enumerate(new.items, start=1)
        )
        *first, last = batched(puts, AT_ONCE, strict=False)
        claim = {"items_hash": new.items_hash, "created_at": times["created_at"]}
        for items in first:
            yield [self.check_action(key.claim, _CLAIMED, claim), *items]
        task = {
            **key.row,
            "kind": "task",
            "task_id": key.task_id,
            **new.values,
            "status": Status.CREATED,
            "mode": new.mode,
            "attempt": 1,
            "total_items": len(new.items),
            "completed_items": 0,
            "failed_items": 0,
            "history": [],
            "items_hash": new.items_hash,
            **times,
            OPEN_SINCE: at.isoformat(),
        }
        # Without a claim of its own, the task ends any claim of others.
        end = self.delete_action(key.claim, _CLAIMED, claim) if first else self.delete_action(key.claim)
        yield [self.put_action(task, NEW), end, *last]

    def forget(self, task: Task) -> None:
        """Delete the row of a task that has expired, unless it has changed."""
        self.transact([self.delete_action(task.key.row, "#expires_at = :seen", {"seen": task.expires_at})])

    # Items

    def begin(self, task: Task, item: Item, until: datetime, at: datetime) -> bool:
        """Let an invocation work on an item, unless it has changed. until: when the invocation times out."""
        assign = {
            "status": Status.PROCESSING,
            "attempt": task.attempt,
            "attempts": item.attempts + 1,
            "busy_until": until.isoformat(),
            "started_at": at.isoformat(),
            "history": item.past,
        }
        return self._item(task, item, assign, at, remove=["error", "ended_at"])

    def complete(self, task: Task, item: Item, result: Any, at: datetime) -> bool:
        """Store the result of an item that was begun. item: as `begin` left it."""
        assign = {"status": Status.COMPLETED, "result": result, "ended_at": at.isoformat()}
        return self._item(task, item, assign, at, remove=["busy_until"])

    def fail(self, task: Task, item: Item, error: TaskError, at: datetime, *, certain: bool = False) -> bool:
        """Store an item's error. certain: whether its work has ended, so that a retry is different work."""
        # An item that the attempt did not reach keeps its earlier failure in the history.
        past = {"history": item.past} if item.status is Status.FAILED else {}
        assign = {
            "status": Status.FAILED,
            "attempt": task.attempt,
            "error": error.values,
            "round": item.round + int(certain),
            "ended_at": at.isoformat(),
            **past,
        }
        return self._item(task, item, assign, at, remove=["busy_until"])

    def release(self, task: Task, item: Item, at: datetime) -> bool:
        """Note that the invocation that began an item has given up, with nothing decided."""
        return self._item(task, item, {"busy_until": at.isoformat()}, at)

    def _item(
        self, task: Task, item: Item, assign: Mapping[str, Any], at: datetime, remove: Sequence[str] = ()
    ) -> bool:
        seen = {"seen": item.status, "seen_attempt": item.attempt, "seen_attempts": item.attempts}
        changes = {**assign, "updated_at": at.isoformat()}
        return self.update(task.key.item(item.number), _AS_SEEN, changes, values=seen, remove=remove)

    # Tasks

    def start(self, task: Task, deadline: datetime, at: datetime) -> bool:
        """Note that an attempt runs. A repeated call keeps the first deadline."""
        return self._task(
            task,
            _RUNS,
            {"status": Status.PROCESSING, "updated_at": at.isoformat()},
            computed={"started_at": "if_not_exists(#started_at, :at)", "deadline": "if_not_exists(#deadline, :until)"},
            values={"at": at.isoformat(), "until": deadline.isoformat()},
        )

    def end(self, task: Task, status: Status, values: Mapping[str, Any], at: datetime) -> bool:
        """Set the final status of an attempt, once. It stays open until its alarm is raised."""
        assign = {**values, "status": status, "ended_at": at.isoformat(), "updated_at": at.isoformat()}
        done = [OPEN_SINCE] if status is Status.COMPLETED else []
        return self._task(task, _RUNS, assign, remove=done)

    def close(self, task: Task) -> bool:
        """Remove a task that has ended from the index."""
        return self._task(task, _ENDED, {}, remove=[OPEN_SINCE])

    def retry(self, task: Task, mode: str, at: datetime) -> int | None:
        """Begin the next attempt of a task that has ended. Returns how many items it has; None if it had begun.

        mode: what runs it.
        """
        items: int = task.values["failed_items"]
        assign = {
            "history": task.past,
            "retried_items": items,
            "mode": mode,
            "attempt": task.attempt + 1,
            "status": Status.CREATED,
            OPEN_SINCE: at.isoformat(),
            "updated_at": at.isoformat(),
        }
        condition = f"{_ENDED} AND attribute_not_exists(#open_since)"
        begun = self._task(task, condition, assign, remove=["deadline", "ended_at", "error", "started_at"])
        return items if begun else None

    def _task(
        self,
        task: Task,
        condition: str,
        assign: Mapping[str, Any],
        *,
        values: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> bool:
        return self.update(
            task.key.row, condition, assign, values={"own": task.attempt, **_OPEN, **(values or {})}, **more
        )
