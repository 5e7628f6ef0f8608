"""Lambda handlers of the user import, one for each state."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from runtime.clients import client, single_try_client
from runtime.environment import read_environment
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


@dataclass(frozen=True, slots=True)
class Environment(StoreEnvironment):
    """connect_instance_alias: of the instance that the stack creates. max_import_rows: that one import may have.

    connect_instance_arns, allowed_security_profiles: with commas between them. allow_reset: "true" or "false".
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
    return read_environment(Environment)


@cache
def connect_client() -> Any:
    return forget_messages(single_try_client("connect"))


def imports(call: Call) -> Imports:
    """Everything but the creation of users."""
    settings = environment()
    bucket = Bucket(client("s3"), settings.users_bucket)
    alias = settings.connect_instance_alias or default_alias(settings.stack_name, settings.stack_id)
    allowed = AllowedInstances.parse(settings.connect_instance_arns)
    may_reset = settings.allow_reset == "true"
    instances = Instances(_connect(call), settings.stack_name, alias, allowed, may_reset)
    return Imports(Files(bucket, settings.user_file_prefix, settings.max_import_rows), instances, _defaults())


def creation(call: Call) -> Creation:
    """The creation of users."""
    settings = environment()
    bucket = Bucket(client("s3"), settings.users_bucket)
    allowed = listed_names(settings.allowed_security_profiles)
    return Creation(bucket, _connect(call), lease_store(settings), _defaults(), allowed)


@handler(parse_request)
def initialize(request: ImportRequest, call: Call) -> Any:
    """Decide what to import. A wrong input or header is refused here, before anything is created."""
    return msgspec.to_builtins(imports(call).plan(request))


@handler(tasks.CreateInstance.parse, ids=("import_id",))
def create_instance(task: tasks.CreateInstance, call: Call) -> Any:
    """Find or create the stack's instance; without it, if nothing is to be created."""
    return {"instance_id": imports(call).instance(task)}


@handler(tasks.CheckInstanceExistence.parse, ids=("import_id", "instance_id", "checks"))
def check_instance_existence(task: tasks.CheckInstanceExistence, call: Call) -> Any:
    """Say whether the instance is READY, or whether to WAIT and ask again."""
    return imports(call).check(task)


@handler(tasks.CountCsvFiles.parse, ids=("import_id",))
def count_csv_files(task: tasks.CountCsvFiles, call: Call) -> Any:
    """Point at each row that is to run, and map the names of profiles to ids."""
    return imports(call).count(task)


@handler(tasks.ResultCsvFileCreate.parse, ids=("import_id",))
def result_csv_file_create(task: tasks.ResultCsvFileCreate, call: Call) -> Any:
    """Write a result file that says of every row that its outcome is not known yet."""
    return imports(call).announce(task)


@handler(tasks.row_task, ids=("import_id", "row"))
def user_create(task: RowTask, call: Call) -> str:
    """Create the user of one row."""
    return str(creation(call).run(task, call.deadline))


@handler(tasks.RegisterResult.parse, ids=("import_id",))
def register_result(task: tasks.RegisterResult, call: Call) -> Any:
    """Write the result file, and sum it up."""
    return imports(call).register(task)


def _connect(call: Call) -> Connect:
    return Connect(connect_client(), Backoff(backoff_until(call)))


def _defaults() -> ProfileNames:
    return ProfileNames(environment().default_security_profile, environment().default_routing_profile)
