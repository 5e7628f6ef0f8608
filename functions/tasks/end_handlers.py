"""Lambda handlers that end tasks which were cut off, and run failed items again."""

import logging
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler, unread
from runtime.machine import was_redriven

from .alerts import Alerts
from .errors import StaleTask
from .executions import Machine, error_of
from .finalizing import Finalization
from .request import Ended, RetryRequest, parse_ended, parse_retry
from .retrying import Retrying
from .state import TaskError
from .sweep import TaskSweep
from .table import TasksTable

# The rows of 1,000 items are written within this.
_MILLISECONDS_FOR_THE_END = 45_000

_logger = logging.getLogger(__name__)


class Environment(Variables):
    tasks_table: str
    task_arn: str
    alerts_topic_arn: str


@cache
def finalization() -> Finalization:
    own = Environment()
    alerts = Alerts(partial(client, "sns"), own.alerts_topic_arn)
    return Finalization(TasksTable(dynamodb(), own.tasks_table), alerts)


@cache
def machine() -> Machine:
    return Machine(partial(client, "stepfunctions"), Environment().task_arn)


@handler(parse_ended, ids=("execution", "status"))
def task_ended(ended: Ended, call: Call) -> None:
    """End an attempt whose execution was cut off (event *Execution Status Change*)."""
    if ended.status == "SUCCEEDED" or ended.own is None:
        return
    if was_redriven(machine().client(), ended.execution_arn):
        _logger.info("nothing to end", extra={"reason": "the execution was redriven"})
        return
    died = TaskError(error_of(ended.status, ended.error), "its execution ended without finishing it")
    try:
        finalization().finish_waiting(ended.own.key, ended.own.attempt, lambda: _has_time(call), died=died)
    except StaleTask as stale:
        _logger.info("nothing to end", extra={"reason": str(stale)})


@handler(unread)
def sweep_tasks(_: None, call: Call) -> dict[str, int]:
    """Start or end the tasks whose stream record or event was lost, and raise alarms that were not raised."""
    return TaskSweep(finalization(), machine()).run(call.at, lambda: _has_time(call))


@handler(parse_retry, ids=("tenant_code", "task_id"))
def retry_task(request: RetryRequest, call: Call) -> dict[str, Any]:
    """Run the failed items of a task again, in its next attempt."""
    return Retrying(finalization(), machine()).retry(request, call.at)


def _has_time(call: Call) -> bool:
    return call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_THE_END
