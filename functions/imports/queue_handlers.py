"""Lambda handler of the queue `import-action`."""

from functools import cache, partial

from idempotency import LeaseStore
from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.handler import Call
from runtime.queues import message_parser, once, queue_handler
from runtime.stores import StoreEnvironment, lease_store

from .executions import Machines
from .request import Job
from .starting import START_IMPORT, start
from .table import ImportsTable


class Environment(StoreEnvironment):
    imports_table: str
    import_csv_arn: str
    import_zip_arn: str


class ImportAction(Job, frozen=True, forbid_unknown_fields=True):
    """Start this import."""


@cache
def environment() -> Environment:
    return Environment()


@cache
def leases() -> LeaseStore:
    return lease_store(environment())


@cache
def machines() -> Machines:
    own = environment()
    return Machines(partial(client, "stepfunctions"), own.import_csv_arn, own.import_zip_arn)


@queue_handler(message_parser(ImportAction), ids=("tenant_code", "import_id"))
@once(leases, START_IMPORT, key=lambda action: f"{action.tenant_code}/{action.import_id}")
def import_action(action: ImportAction, _call: Call) -> str:
    """Start an import that has not started. Returns its status before."""
    return start(ImportsTable(dynamodb(), environment().imports_table), machines(), action.key)
