"""Runs an attempt: starts it and does the work of its items, for the machine; or all of it at once, for the queue."""

import logging
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from entities.targets import Clients
from idempotency import (
    BusinessError,
    Contention,
    IdempotencyError,
    LeaseStore,
    OutcomeHeld,
    ResultUnavailable,
    TransientError,
)
from runtime.values import json_size, storable

from .creation import Creation
from .errors import ResultTooLarge, StaleTask
from .finalizing import Finalization
from .requests import MAX_ATTEMPTS, ActionRequest, StateInput
from .state import CUT_OFF, QUEUE, Item, Status, Task, TaskError, TaskKey
from .table import TasksTable
from .types import HandlerEnvironment, Run, TaskTypes

MAX_RESULT = 4 * 1024
"""Maximum bytes of a result as JSON."""
MAX_MESSAGE = 500
# After these errors, the work may have been done.
_UNCERTAIN = (OutcomeHeld, ResultUnavailable, ResultTooLarge)
# A round is lost if another invocation began or ended the item.
_ROUNDS = 3
# Time left of the invocation after it has waited for a lease.
_RESERVE = timedelta(seconds=20)

_logger = logging.getLogger(__name__)


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Starting:
    """Starts attempts. limit: how long items of an attempt may begin. max_concurrency: items at once."""

    table: TasksTable
    limit: timedelta
    max_concurrency: int

    def start(self, state: StateInput, at: datetime) -> dict[str, Any]:
        """Note that an attempt runs. Returns {"numbers", "max_concurrency"}. Raises StaleTask."""
        task = self.table.known(state.key)
        # At the same moment, the task may have got another current attempt.
        if not state.is_own or not task.runs(state.attempt) or not self.table.start(task, at + self.limit, at):
            raise StaleTask(f"{state.task_id}: attempt {state.attempt} does not run, or not in this execution")
        numbers = [item.number for item in self.table.items(task) if not item.ended_in(state.attempt)]
        return {"numbers": numbers, "max_concurrency": self.max_concurrency}


@dataclass(frozen=True, slots=True)
class Items:
    """Runs items. leases: for types whose work runs under a lease. clock: returns the current time, aware UTC."""

    table: TasksTable
    types: TaskTypes
    environment: HandlerEnvironment
    clients: Clients
    leases: LeaseStore
    clock: Callable[[], datetime] = _now

    def run(self, key: TaskKey, number: int, attempt: int, deadline: datetime) -> Status:
        """Do the work of an item in an attempt of its task. Returns COMPLETED or FAILED, as stored in its row.

        deadline: when the invocation times out, aware UTC. An item that has ended in this attempt is left alone.
        Raises StaleTask (nothing is done or written); TransientError (another call continues). Any other error is a
        defect: the item has failed.
        """
        for _ in range(_ROUNDS):
            task, item = self.table.with_item(key, number)
            if item.ended_in(attempt):
                return item.status
            if not task.runs(attempt):
                raise StaleTask(f"{key.task_id}: attempt {attempt} does not run")
            at = self.clock()
            if task.deadline and at >= task.deadline and item.status is not Status.PROCESSING:
                if self.table.fail(task, item, TaskError(CUT_OFF, "the task's time was over"), at):
                    return Status.FAILED
            elif self.table.begin(task, item, deadline, at):
                return self._run(task, _begun(task, item), deadline)
        raise Contention(f"{key.task_id}#{number:04} is being run by other calls")

    def _run(self, task: Task, item: Item, deadline: datetime) -> Status:
        try:
            result = _checked(self._work(task, item, deadline))
        except TransientError:
            # Best effort: without it, finalization waits for the invocation's timeout.
            with suppress(IdempotencyError):
                self.table.release(task, item, self.clock())
            raise
        except BusinessError as error:
            return self._failed(task, item, error, certain=not isinstance(error, _UNCERTAIN))
        except Exception as error:
            self._failed(task, item, error, certain=False)
            raise
        ended = self.table.complete(task, item, result, self.clock())
        return Status.COMPLETED if ended else self._decided(task, item)

    def _work(self, task: Task, item: Item, deadline: datetime) -> Any:
        kind = self.types.of(task.type)
        handle = kind.handler(self.environment, self.clients)
        value, run = kind.item(item.values["item"]), Run(task.key.run(item.number, item.round), deadline)
        if kind.work is None:
            return handle(value, run)
        resolve = kind.resolve(self.environment, self.clients) if kind.resolve else None
        return self.leases.run(
            kind.work,
            run.key,
            item.values["item"],
            lambda lease: handle(value, Run(run.key, deadline, lease)),
            deadline=deadline,
            wait=max(deadline - self.clock() - _RESERVE, timedelta(0)),
            resolve=(lambda: resolve(value, run)) if resolve else None,
        )

    def _failed(self, task: Task, item: Item, error: Exception, *, certain: bool) -> Status:
        # Only our own messages: a foreign error's message might contain anything.
        message = (
            str(error)[:MAX_MESSAGE]
            if isinstance(error, IdempotencyError)
            else "unexpected error; the function's log has it"
        )
        found = TaskError(type(error).__name__, message)
        if self.table.fail(task, item, found, self.clock(), certain=certain):
            _logger.warning("item failed", extra={"number": item.number, "error": found.type})
            return Status.FAILED
        return self._decided(task, item)

    def _decided(self, task: Task, item: Item) -> Status:
        """Return what another invocation, or this write's first try, decided.

        Raises Contention if one has begun the item.
        """
        _, found = self.table.with_item(task.key, item.number)
        if not found.ended_in(task.attempt):
            raise Contention(f"{task.key.task_id}#{item.number:04} was begun by another call")
        return found.status


def _begun(task: Task, item: Item) -> Item:
    """Return the item as `begin` has left it."""
    changes = {"status": Status.PROCESSING, "attempt": task.attempt, "attempts": item.attempts + 1}
    return Item(item.number, {**item.values, **changes, "history": item.past})


def _checked(result: Any) -> Any:
    found = storable(result, "result")
    if json_size(found) > MAX_RESULT:
        raise ResultTooLarge(f"the result has more than {MAX_RESULT} bytes of JSON")
    return found


@dataclass(frozen=True, slots=True)
class QueuedTasks:
    creation: Creation
    items: Items
    finalization: Finalization

    def run(self, request: ActionRequest, deadline: datetime, at: datetime) -> Status:
        """Create the task, do its item's work, end it. A redelivered message continues where it stopped.

        A task of this id that the machine runs, or that has ended, is left alone. If the sweep has ended it because
        no message arrived (`QueueGaveUp`), a redriven message runs its next attempt.
        deadline: when the invocation times out, aware UTC. Returns the task's status.
        Raises InvalidTask, PayloadMismatch, StaleTask (no retry helps), TransientError; any other error is a defect.
        """
        self.creation.create(request.creation, at, queued=True)
        key = TaskKey(request.tenant_code, request.task_id)
        task = self.items.table.known(key)
        if task.queued and task.gave_up and task.attempt < MAX_ATTEMPTS:
            # Finish first: the alarm counts what failed in this attempt.
            self.finalization.finish(key, task.attempt, at)
            self.items.table.retry(task, QUEUE, at)
            # A failed condition proves nothing: the SDK may have repeated its own write.
            task = self.items.table.known(key)
        if (task.final and task.open_since is None) or not task.queued:
            return task.status
        try:
            self.items.run(key, 1, task.attempt, deadline)
        except TransientError:
            raise
        except Exception:
            # The item's row has the error: the task has ended, and the function's log shows the defect.
            self.finalization.finish(key, task.attempt, at)
            raise
        return self.finalization.finish(key, task.attempt, at)
