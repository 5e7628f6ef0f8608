"""Lambda handler of the state finish."""

from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .alerts import Alerts
from .errors import StaleTask
from .finalizing import Finalization
from .request import IDS, FinishInput, parse_finish
from .table import TasksTable

# The rows of 1,000 items are written within this.
_MILLISECONDS_FOR_THE_END = 45_000


class Environment(Variables):
    tasks_table: str
    alerts_topic_arn: str


@cache
def finalization() -> Finalization:
    own = Environment()
    alerts = Alerts(partial(client, "sns"), own.alerts_topic_arn)
    return Finalization(TasksTable(dynamodb(), own.tasks_table), alerts)


@handler(parse_finish, ids=IDS)
def finish_task(state: FinishInput, call: Call) -> dict[str, Any]:
    """Compute the task's status from its items, and raise the alarm if some have failed."""
    if not state.is_own:
        raise StaleTask(f"{state.task_id}: this is not the execution of attempt {state.attempt}")
    status = finalization().finish_waiting(
        state.key,
        state.attempt,
        lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_THE_END,
        errors=state.errors,
    )
    return {"status": str(status)}
