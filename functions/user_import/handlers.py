"""Lambda handlers of the user import, one for each state."""

from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec

from runtime.clients import client, single_try_client
from runtime.environment import read_environment
from runtime.stores import StoreEnvironment, lease_store

from . import tasks
from .backoff import Backoff
from .bucket import Bucket
from .connect import Connect, forget_messages
from .creation import Creation, RowTask
from .csv_file import RowPointer
from .encoding import UTF_8
from .files import Files
from .imports import Imports
from .instances import AllowedInstances, Instances, default_alias
from .profiles import ProfileNames, listed_names
from .request import parse_request
from .tasks import LambdaContext, backoff_until, deadline, logged, parse_call


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


def imports(context: LambdaContext) -> Imports:
    """Everything except creating users."""
    settings = environment()
    bucket = Bucket(client("s3"), settings.users_bucket)
    alias = settings.connect_instance_alias or default_alias(settings.stack_name, settings.stack_id)
    allowed = AllowedInstances.parse(settings.connect_instance_arns)
    may_reset = settings.allow_reset == "true"
    instances = Instances(_connect(context), settings.stack_name, alias, allowed, may_reset)
    return Imports(Files(bucket, settings.user_file_prefix, settings.max_import_rows), instances, _defaults())


def creation(context: LambdaContext) -> Creation:
    """Creating users."""
    settings = environment()
    bucket = Bucket(client("s3"), settings.users_bucket)
    allowed = listed_names(settings.allowed_security_profiles)
    return Creation(bucket, _connect(context), lease_store(settings), _defaults(), allowed)


def initialize(event: Any, context: LambdaContext) -> Any:
    """Decide what to import. Rejects a wrong input or header before anything is created."""
    with logged("initialize"):
        return msgspec.to_builtins(imports(context).plan(parse_request(event)))


def create_instance(event: Any, context: LambdaContext) -> Any:
    """Find or create the stack's instance, unless the import only validates."""
    call = parse_call(tasks.CreateInstance, event)
    with logged("create_instance", import_id=call.import_id):
        return {"instance_id": imports(context).instance(call)}


def check_instance_existence(event: Any, context: LambdaContext) -> Any:
    """Return READY if the instance is ready, else WAIT."""
    call = parse_call(tasks.CheckInstanceExistence, event)
    with logged("check_instance_existence", import_id=call.import_id, instance_id=call.instance_id, checks=call.checks):
        return imports(context).check(call)


def count_csv_files(event: Any, context: LambdaContext) -> Any:
    """Return a pointer to each row to run, and map profile names to ids."""
    call = parse_call(tasks.CountCsvFiles, event)
    with logged("count_csv_files", import_id=call.import_id):
        return imports(context).count(call)


def result_csv_file_create(event: Any, context: LambdaContext) -> Any:
    """Write a result file with NotRegistered in every row."""
    call = parse_call(tasks.ResultCsvFileCreate, event)
    with logged("result_csv_file_create", import_id=call.import_id):
        return imports(context).announce(call)


def user_create(event: Any, context: LambdaContext) -> str:
    """Create the user of one row."""
    call = parse_call(tasks.UserCreate, event)
    row = RowPointer.parse(call.row)
    task = RowTask(
        call.import_id,
        call.source,
        call.origin or call.source.key,
        call.columns,
        row,
        call.instance_id,
        call.profiles,
        validate_only=call.validate_only,
        encoding=call.encoding or UTF_8,
    )
    with logged("user_create", import_id=call.import_id, row=row.number):
        return str(creation(context).run(task, deadline(context)))


def register_result(event: Any, context: LambdaContext) -> Any:
    """Write the result file and return a summary."""
    call = parse_call(tasks.RegisterResult, event)
    with logged("register_result", import_id=call.import_id):
        return imports(context).register(call)


def _connect(context: LambdaContext) -> Connect:
    return Connect(connect_client(), Backoff(backoff_until(context)))


def _defaults() -> ProfileNames:
    return ProfileNames(environment().default_security_profile, environment().default_routing_profile)
