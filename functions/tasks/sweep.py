"""Makes up for lost records and events: looks at every task that has not ended, or whose alarm was not raised."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from runtime.sweep import in_turns

from .errors import StillRunning, SweepUnfinished
from .executions import RUNNING, Machine
from .finalizing import Finalization
from .state import QUEUE_OVER, Task, TaskError

# The stream starts a task within seconds.
_GRACE = timedelta(minutes=1)
# After it, no message of the queue comes again, unless an operator redrives it.
_QUEUE_LIFE = timedelta(hours=1)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class TaskSweep:
    finalization: Finalization
    machine: Machine

    def run(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Look at every open task. Returns how many are open, and what was done. Raises SweepUnfinished."""
        found = in_turns(self.finalization.table.open(), lambda task: task.key.tenant_code)
        done = Counter(self._reviewed(task, at) if time_left() else "failed" for task in found)
        counts = {"open": len(found), **{name: done[name] for name in ("running", "started", "ended", "failed")}}
        # The alarms' metrics are made from this line, also when there is nothing to count.
        _logger.info("swept", extra=counts)
        if counts["failed"]:
            raise SweepUnfinished(f"{counts['failed']} of {len(found)} tasks")
        return counts

    def _reviewed(self, seen: Task, at: datetime) -> str:
        try:
            return self._review(seen, at)
        except StillRunning:
            return "running"
        except Exception:
            _logger.exception(
                "task not swept", extra={"tenant_code": seen.key.tenant_code, "task_id": seen.key.task_id}
            )
            return "failed"

    def _review(self, seen: Task, at: datetime) -> str:
        """What was done. seen: the task as the index has it, which may be late."""
        task = self.finalization.table.find(seen.key)
        if task is None or task.open_since is None or task.open_since + _GRACE > at:
            return "running"
        died = None
        if not task.status.final:
            if task.queued:
                if task.open_since + _QUEUE_LIFE > at:
                    return "running"
                died = QUEUE_OVER
            else:
                execution = self.machine.find(task.key, task.attempt)
                if execution is None:
                    self.machine.start(task.key, task.attempt)
                    return "started"
                if execution.status == RUNNING:
                    return "running"
                died = execution.error
        message = "its execution ended without finishing it"
        self.finalization.finish(task.key, task.attempt, at, died=TaskError(died, message) if died else None)
        return "ended"
