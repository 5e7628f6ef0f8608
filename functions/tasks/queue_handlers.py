"""Lambda handler of the queue `task-action`."""

from datetime import timedelta
from functools import cache, partial

from idempotency import LeaseStore
from runtime.clients import client
from runtime.handler import Call
from runtime.queues import once, queue_handler
from runtime.stores import StoreEnvironment, lease_store

from . import item_handlers
from .alerts import Alerts
from .creation import Creation
from .finalizing import Finalization
from .queued import RUN_TASK, QueuedTasks
from .registered import TYPES
from .request import ActionRequest, action_parser


class Environment(item_handlers.Environment):
    """task_lifetime_days: also of the leases of messages."""

    alerts_topic_arn: str
    jobs_bucket: str


@cache
def environment() -> Environment:
    return Environment()


@cache
def leases() -> LeaseStore:
    own = environment()
    return lease_store(StoreEnvironment(own.idempotency_table, own.task_lifetime_days))


@cache
def tasks() -> QueuedTasks:
    own, items = environment(), item_handlers.items()
    creation = Creation(items.table, TYPES, own.jobs_bucket, timedelta(days=own.task_lifetime_days))
    return QueuedTasks(creation, items, Finalization(items.table, Alerts(partial(client, "sns"), own.alerts_topic_arn)))


@queue_handler(action_parser(TYPES), ids=("tenant_code", "task_id"))
@once(leases, RUN_TASK, key=lambda action: f"{action.tenant_code}/{action.task_id}")
def task_action(action: ActionRequest, call: Call) -> str:
    """Run a task of one item, without a machine. Returns its status."""
    return str(tasks().run(action, call.deadline, call.at))
