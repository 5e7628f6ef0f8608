"""A task of one item by the queue, without a machine."""

from dataclasses import dataclass
from datetime import datetime

from idempotency import TransientError
from runtime.stores import message_work

from .creation import Creation
from .finalizing import Finalization
from .keys import TaskKey
from .request import MAX_ATTEMPTS, ActionRequest
from .running import Items
from .state import QUEUE, Status

RUN_TASK = message_work("RunTask")


@dataclass(frozen=True, slots=True)
class QueuedTasks:
    creation: Creation
    items: Items
    finalization: Finalization

    def run(self, request: ActionRequest, deadline: datetime, at: datetime) -> Status:
        """Create the task, do its item's work, end it. A message that comes again goes on where it stopped.

        A task of this id that the machine runs, or that has ended, is left alone. If the sweep has ended it because
        no message arrived (`QueueGaveUp`), a redriven message runs its next attempt.
        deadline: when the invocation times out, aware UTC. Returns the task's status.
        Raises InvalidTask, PayloadMismatch, StaleTask (no try helps), TransientError; any other error is a defect.
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
        if (task.status.final and task.open_since is None) or not task.queued:
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
