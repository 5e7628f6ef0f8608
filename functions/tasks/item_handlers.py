"""Lambda handler of the state iterator."""

from functools import cache
from typing import Any

from runtime.clients import client, waiting_client
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, lease_store

from .errors import StaleTask
from .registered import TYPES
from .request import IDS, ItemInput, parse_item
from .running import Items
from .table import TasksTable
from .types import HandlerEnvironment


class Environment(HandlerEnvironment):
    """task_lifetime_days: also of leases, so that no retry finds a task whose items' leases are forgotten."""

    tasks_table: str
    idempotency_table: str
    task_lifetime_days: int


@cache
def items() -> Items:
    """What runs items. The queue's handlers use it, too."""
    own = Environment()
    leases = lease_store(StoreEnvironment(own.idempotency_table, own.task_lifetime_days))
    return Items(TasksTable(dynamodb(), own.tasks_table), TYPES, own, _client, leases)


@handler(parse_item, ids=(*IDS, "number"))
def run_task_item(state: ItemInput, call: Call) -> dict[str, Any]:
    """Do the work of one item. Its failure is in its row, and is no error of the function."""
    if not state.is_own:
        raise StaleTask(f"{state.task_id}: this is not the execution of attempt {state.attempt}")
    return {"status": str(items().run(state.key, state.number, state.attempt, call.deadline))}


def _client(service: str) -> Any:
    """RunJob answers when the object is read."""
    return waiting_client(service) if service == "lambda" else client(service)
