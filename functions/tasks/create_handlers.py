"""Lambda handler that creates tasks."""

from datetime import timedelta
from functools import cache

from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .creation import Answer, Creation
from .registered import TYPES
from .request import CreateRequest, create_parser
from .table import TasksTable


class Environment(Variables):
    """task_lifetime_days: of all rows of a task. jobs_bucket: the only one whose objects an item may name."""

    tasks_table: str
    jobs_bucket: str
    task_lifetime_days: int


@cache
def creation() -> Creation:
    own = Environment()
    table = TasksTable(dynamodb(), own.tasks_table)
    return Creation(table, TYPES, own.jobs_bucket, timedelta(days=own.task_lifetime_days))


@handler(create_parser(TYPES), ids=("tenant_code",))
def create_task(request: CreateRequest, call: Call) -> Answer:
    """Store the items of a task, then the task itself, whose new row starts the machine."""
    return creation().create(request, call.at)
