"""Every Lambda handler of tasks.

| handler                                  | called by                                   |
| ---------------------------------------- | ------------------------------------------- |
| create_task, retry_task                  | callers: operators and the HTTP API         |
| task_action                              | the queue `task-action`                     |
| launch_tasks, notify_tasks               | the stream of TasksTable                    |
| start_task, run_task_item, finish_task   | the machine's states start, iterator, finish |
| task_ended, sweep_tasks                  | the event of an end; the schedule           |
"""

from collections.abc import Sequence
from datetime import timedelta
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from runtime.clients import client, waiting_client
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler, unread
from runtime.queues import once, queue_handler
from runtime.stores import lease_store
from runtime.streams import Record, each, parse_records

from .requests import (
    IDS,
    RUN_TASK,
    ActionRequest,
    CreateRequest,
    Ended,
    FinishInput,
    ItemInput,
    RetryRequest,
    StateInput,
    action_parser,
    create_parser,
    parse_ended,
    parse_finish,
    parse_item,
    parse_retry,
    parse_state,
)
from .types import HandlerEnvironment

# Each function needs only some of these, and loading all takes a tenth of a cold start.
if TYPE_CHECKING:
    from idempotency import LeaseStore
    from runtime.machine import Machine
    from runtime.notices import Notices

    from .creation import Answer, Creation
    from .finalizing import Finalization
    from .recovery import Recovery
    from .running import Items, Starting
    from .table import TasksTable
    from .types import TaskTypes

# The rows of 1,000 items are written within this.
_MILLISECONDS_FOR_THE_END = 45_000


class Environment(HandlerEnvironment):
    """Environment of all handlers. jobs_bucket: the only one whose objects an item may name.

    task_lifetime_days: of all rows of a task, and of leases, so that no retry finds a task whose items' leases have
    expired. task_timeout_seconds: how long items of an attempt may begin. task_max_concurrency: items at once.
    """

    tasks_table: str
    idempotency_table: str
    jobs_bucket: str
    task_lifetime_days: int
    task_timeout_seconds: int
    task_max_concurrency: int
    task_arn: str
    alerts_topic_arn: str
    notification_topic_arn: str

    @property
    def lifetime(self) -> timedelta:
        return timedelta(days=self.task_lifetime_days)


environment = Environment()


def types() -> "TaskTypes":
    from .registered import TYPES

    return TYPES


@cache
def table() -> "TasksTable":
    from .table import TasksTable

    return TasksTable(dynamodb(), environment.tasks_table)


@cache
def creation() -> "Creation":
    from .creation import Creation

    return Creation(table(), types(), environment.jobs_bucket, environment.lifetime)


@cache
def starting() -> "Starting":
    from .running import Starting

    limit = timedelta(seconds=environment.task_timeout_seconds)
    return Starting(table(), limit, environment.task_max_concurrency)


@cache
def leases() -> "LeaseStore":
    return lease_store(environment)


@cache
def items() -> "Items":
    from .running import Items

    return Items(table(), types(), environment, _client, leases())


@cache
def finalization() -> "Finalization":
    from .finalizing import Alerts, Finalization

    return Finalization(table(), Alerts(partial(client, "sns"), environment.alerts_topic_arn))


@cache
def machine() -> "Machine":
    from runtime.machine import Machine

    return Machine.of(environment.task_arn)


@cache
def recovery() -> "Recovery":
    from .recovery import Recovery

    return Recovery(finalization(), machine())


@cache
def notices() -> "Notices":
    from runtime.notices import Notices

    return Notices.of(environment.notification_topic_arn)


@handler(create_parser(types), ids=("tenant_code",))
def create_task(request: CreateRequest, call: Call) -> "Answer":
    """Store the items of a task, then the task itself, whose new row starts the machine."""
    return creation().create(request, call.at)


@handler(parse_retry, ids=("tenant_code", "task_id"))
def retry_task(request: RetryRequest, call: Call) -> dict[str, Any]:
    """Run the failed items of a task again, in its next attempt."""
    return recovery().retry(request, call.at)


@queue_handler(action_parser(types), ids=("tenant_code", "task_id"))
@once(leases, RUN_TASK, key=lambda action: f"{action.tenant_code}/{action.task_id}")
def task_action(action: ActionRequest, call: Call) -> str:
    """Run a task of one item, without a machine. Returns its status."""
    from .running import QueuedTasks

    return str(QueuedTasks(creation(), items(), finalization()).run(action, call.deadline, call.at))


@handler(parse_records)
def launch_tasks(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Start the execution of each new task in the batch (stream of TasksTable, new rows)."""
    from .recovery import launch

    started = machine()
    return each(records, lambda record: launch(record, started))


@handler(parse_records)
def notify_tasks(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Publish a notice of each attempt of a task that ended (stream of TasksTable)."""
    from .finalizing import notice_of

    return notices().follow(records, notice_of)


@handler(parse_state, ids=IDS)
def start_task(state: StateInput, call: Call) -> dict[str, Any]:
    """Note that an attempt runs. Return the numbers of the items that it runs, and the maximum concurrency."""
    return starting().start(state, call.at)


@handler(parse_item, ids=(*IDS, "number"))
def run_task_item(state: ItemInput, call: Call) -> dict[str, Any]:
    """Do the work of one item. A failure is stored in its row and does not fail the function."""
    _require_own(state)
    return {"status": str(items().run(state.key, state.number, state.attempt, call.deadline))}


@handler(parse_finish, ids=IDS)
def finish_task(state: FinishInput, call: Call) -> dict[str, Any]:
    """Compute the task's status from its items, and raise the alarm if some have failed."""
    _require_own(state)
    status = finalization().finish_waiting(state.key, state.attempt, partial(_has_time, call), errors=state.errors)
    return {"status": str(status)}


@handler(parse_ended, ids=("execution", "status"))
def task_ended(ended: Ended, call: Call) -> None:
    """End an attempt whose execution was cut off (event *Execution Status Change*)."""
    recovery().end(ended, partial(_has_time, call))


@handler(unread)
def sweep_tasks(_: None, call: Call) -> dict[str, int]:
    """Start or end the tasks whose stream record or event was lost, and raise alarms that were not raised."""
    return recovery().sweep(call.at, partial(_has_time, call))


def _require_own(state: StateInput) -> None:
    from .errors import StaleTask

    if not state.is_own:
        raise StaleTask(f"{state.task_id}: this is not the execution of attempt {state.attempt}")


def _has_time(call: Call) -> bool:
    return call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_THE_END


def _client(service: str) -> Any:
    """Return the client of a service. RunJob responds only when it has read the object."""
    return waiting_client(service) if service == "lambda" else client(service)
