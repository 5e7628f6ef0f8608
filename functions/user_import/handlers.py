"""Every Lambda handler of the user import.

| handler                                                | called by                                  |
| ------------------------------------------------------ | ------------------------------------------ |
| start_user_import                                      | the event of an upload to the users' bucket |
| initialize, create_instance, check_instance_existence,  | the machine's states of the same names     |
| count_csv_files, result_csv_file_create,               |                                            |
| user_create, register_result                           |                                            |
"""

from functools import cache
from typing import TYPE_CHECKING, Any

import msgspec

from runtime.clients import client, single_try_client
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, lease_store

from .requests import (
    CheckInstanceExistence,
    CountCsvFiles,
    CreateInstance,
    ImportRequest,
    RegisterResult,
    ResultCsvFileCreate,
    RowTask,
    parse_request,
    row_task,
)
from .uploads import Upload, Uploads, parse_upload
from .user import ProfileNames, listed_names

# Each function needs some of these only.
if TYPE_CHECKING:
    from .bucket import Bucket
    from .connect import Connect
    from .creation import Creation
    from .imports import Imports


class Environment(StoreEnvironment):
    """connect_instance_alias: of the instance that the stack creates. max_import_rows: per import.

    connect_instance_arns, allowed_security_profiles: comma-separated. allow_reset: "true" or "false".
    """

    users_bucket: str
    user_file_prefix: str
    user_import_arn: str
    max_import_rows: int
    stack_name: str
    stack_id: str
    default_security_profile: str
    default_routing_profile: str
    connect_instance_alias: str = ""
    connect_instance_arns: str = ""
    allowed_security_profiles: str = ""
    allow_reset: str = "false"


environment = Environment()


@cache
def connect_client() -> Any:
    from .connect import forget_messages

    return forget_messages(single_try_client("connect"))


@cache
def uploads() -> Uploads:
    from runtime.machine import Machine

    return Uploads(Machine.of(environment.user_import_arn), environment.user_file_prefix)


def imports(call: Call) -> "Imports":
    """Everything except creating users."""
    from .files import Files
    from .imports import Imports
    from .instances import AllowedInstances, Instances, default_alias

    alias = environment.connect_instance_alias or default_alias(environment.stack_name, environment.stack_id)
    allowed = AllowedInstances.parse(environment.connect_instance_arns)
    may_reset = environment.allow_reset == "true"
    instances = Instances(_connect(call), environment.stack_name, alias, allowed, may_reset)
    files = Files(_bucket(), environment.user_file_prefix, environment.max_import_rows)
    return Imports(files, instances, _defaults())


def creation(call: Call) -> "Creation":
    """Creating users."""
    from .creation import Creation

    allowed = listed_names(environment.allowed_security_profiles)
    return Creation(_bucket(), _connect(call), lease_store(environment), _defaults(), allowed)


@handler(parse_upload, ids=("key",))
def start_user_import(upload: Upload, _call: Call) -> dict[str, str]:
    """Start the import of an uploaded file (event *Object Created*). Failed events go to the dead-letter queue."""
    return {"import_id": uploads().start(upload.bucket, upload.key, upload.version_id)}


@handler(parse_request)
def initialize(request: ImportRequest, call: Call) -> Any:
    """Decide what to import. Rejects a wrong input or header before anything is created."""
    return msgspec.to_builtins(msgspec.structs.replace(imports(call).plan(request), began=call.at))


@handler(CreateInstance.parse, ids=("import_id",))
def create_instance(task: CreateInstance, call: Call) -> Any:
    """Find or create the stack's instance, unless the import only validates."""
    return {"instance_id": imports(call).instance(task)}


@handler(CheckInstanceExistence.parse, ids=("import_id", "instance_id", "checks"))
def check_instance_existence(task: CheckInstanceExistence, call: Call) -> Any:
    """Return READY if the instance is ready, else WAIT."""
    return imports(call).check(task)


@handler(CountCsvFiles.parse, ids=("import_id",))
def count_csv_files(task: CountCsvFiles, call: Call) -> Any:
    """Return a pointer to each row to run, and map profile names to ids."""
    return imports(call).count(task)


@handler(ResultCsvFileCreate.parse, ids=("import_id",))
def result_csv_file_create(task: ResultCsvFileCreate, call: Call) -> Any:
    """Write a result file with NotRegistered in every row."""
    return imports(call).announce(task)


@handler(row_task, ids=("import_id", "row"))
def user_create(task: RowTask, call: Call) -> str:
    """Create the user of one row."""
    return str(creation(call).run(task, call.deadline))


@handler(RegisterResult.parse, ids=("import_id",))
def register_result(task: RegisterResult, call: Call) -> Any:
    """Write the result file and return a summary."""
    return imports(call).register(task)


def _bucket() -> "Bucket":
    from .bucket import Bucket

    return Bucket(client("s3"), environment.users_bucket)


def _connect(call: Call) -> "Connect":
    from .connect import Backoff, Connect, backoff_until

    return Connect(connect_client(), Backoff(backoff_until(call)))


def _defaults() -> ProfileNames:
    return ProfileNames(environment.default_security_profile, environment.default_routing_profile)
