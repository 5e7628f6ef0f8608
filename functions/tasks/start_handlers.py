"""Lambda handler of the state start."""

from datetime import timedelta
from functools import cache
from typing import Any

from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .request import IDS, StateInput, parse_state
from .starting import Starting
from .table import TasksTable


class Environment(Variables):
    """task_timeout_seconds: for how long items of an attempt may begin. task_max_concurrency: items at once."""

    tasks_table: str
    task_timeout_seconds: int
    task_max_concurrency: int


@cache
def starting() -> Starting:
    own = Environment()
    table = TasksTable(dynamodb(), own.tasks_table)
    return Starting(table, timedelta(seconds=own.task_timeout_seconds), own.task_max_concurrency)


@handler(parse_state, ids=IDS)
def start_task(state: StateInput, call: Call) -> dict[str, Any]:
    """Note that an attempt runs. Return the numbers of the items that it runs, and how many at once."""
    return starting().start(state, call.at)
