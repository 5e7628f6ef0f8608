"""Lambda handlers of the user import, one for each state."""

from functools import cache
from typing import Any

import msgspec

from runtime.clients import client, single_try_client
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, lease_store

from . import tasks
from .backoff import Backoff
from .bucket import Bucket
from .connect import Connect, forget_messages
from .creation import Creation, RowTask
from .files import Files
from .imports import Imports
from .instances import AllowedInstances, Instances, default_alias
from .profiles import ProfileNames, listed_names
from .request import ImportRequest, parse_request
from .tasks import backoff_until


class Environment(StoreEnvironment):
    """connect_instance_alias: of the instance that the stack creates. max_import_rows: per import.

    connect_instance_arns, allowed_security_profiles: comma-separated. allow_reset: "true" or "false".
    """

    users_bucket: str
    user_file_prefix: str
    max_import_rows: int
    stack_name: str
    stack_id: str
    default_security_profile: str
    default_routing_profile: str
    connect_instance_alias: str = ""
    connect_instance_arns: str = ""
    allowed_security_profiles: str = ""
    allow_reset: str = "false"


@cache
def environment() -> Environment:
    return Environment()


@cache
def connect_client() -> Any:
    return forget_messages(single_try_client("connect"))


def imports(call: Call) -> Imports:
    """Everything except creating users."""
    settings = environment()
    bucket = Bucket(client("s3"), settings.users_bucket)
    alias = settings.connect_instance_alias or default_alias(settings.stack_name, settings.stack_id)
    allowed = AllowedInstances.parse(settings.connect_instance_arns)
    may_reset = settings.allow_reset == "true"
    instances = Instances(_connect(call), settings.stack_name, alias, allowed, may_reset)
    return Imports(Files(bucket, settings.user_file_prefix, settings.max_import_rows), instances, _defaults())


def creation(call: Call) -> Creation:
    """Creating users."""
    settings = environment()
    bucket = Bucket(client("s3"), settings.users_bucket)
    allowed = listed_names(settings.allowed_security_profiles)
    return Creation(bucket, _connect(call), lease_store(settings), _defaults(), allowed)


@handler(parse_request)
def initialize(request: ImportRequest, call: Call) -> Any:
    """Decide what to import. Rejects a wrong input or header before anything is created."""
    return msgspec.to_builtins(msgspec.structs.replace(imports(call).plan(request), began=call.at))


@handler(tasks.CreateInstance.parse, ids=("import_id",))
def create_instance(task: tasks.CreateInstance, call: Call) -> Any:
    """Find or create the stack's instance, unless the import only validates."""
    return {"instance_id": imports(call).instance(task)}


@handler(tasks.CheckInstanceExistence.parse, ids=("import_id", "instance_id", "checks"))
def check_instance_existence(task: tasks.CheckInstanceExistence, call: Call) -> Any:
    """Return READY if the instance is ready, else WAIT."""
    return imports(call).check(task)


@handler(tasks.CountCsvFiles.parse, ids=("import_id",))
def count_csv_files(task: tasks.CountCsvFiles, call: Call) -> Any:
    """Return a pointer to each row to run, and map profile names to ids."""
    return imports(call).count(task)


@handler(tasks.ResultCsvFileCreate.parse, ids=("import_id",))
def result_csv_file_create(task: tasks.ResultCsvFileCreate, call: Call) -> Any:
    """Write a result file with NotRegistered in every row."""
    return imports(call).announce(task)


@handler(tasks.row_task, ids=("import_id", "row"))
def user_create(task: RowTask, call: Call) -> str:
    """Create the user of one row."""
    return str(creation(call).run(task, call.deadline))


@handler(tasks.RegisterResult.parse, ids=("import_id",))
def register_result(task: tasks.RegisterResult, call: Call) -> Any:
    """Write the result file and return a summary."""
    return imports(call).register(task)


def _connect(call: Call) -> Connect:
    return Connect(connect_client(), Backoff(backoff_until(call)))


def _defaults() -> ProfileNames:
    return ProfileNames(environment().default_security_profile, environment().default_routing_profile)
