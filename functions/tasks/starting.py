"""The state start: which items an attempt runs, how many at once, and until when."""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .errors import StaleTask
from .request import StateInput
from .table import TasksTable


@dataclass(frozen=True, slots=True)
class Starting:
    """limit: for how long items of an attempt may begin. max_concurrency: items at once."""

    table: TasksTable
    limit: timedelta
    max_concurrency: int

    def start(self, state: StateInput, at: datetime) -> dict[str, Any]:
        """Note that an attempt runs. Returns {"numbers", "max_concurrency"}. Raises StaleTask."""
        task = self.table.known(state.key)
        # At the same moment, another attempt may have become the task's own.
        if not state.is_own or not task.runs(state.attempt) or not self.table.start(task, at + self.limit, at):
            raise StaleTask(f"{state.task_id}: attempt {state.attempt} does not run, or not in this execution")
        numbers = [item.number for item in self.table.items(task) if not item.ended_in(state.attempt)]
        return {"numbers": numbers, "max_concurrency": self.max_concurrency}
