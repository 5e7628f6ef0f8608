"""Lambda handler that starts an import when its file is uploaded."""

from dataclasses import dataclass
from functools import cache

from runtime.clients import client
from runtime.environment import read_environment
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment

from .uploads import Upload, Uploads, parse_upload


@dataclass(frozen=True, slots=True)
class Environment(StoreEnvironment):
    user_import_arn: str
    user_file_prefix: str


@cache
def uploads() -> Uploads:
    environment = read_environment(Environment)
    return Uploads(client("stepfunctions"), environment.user_import_arn, environment.user_file_prefix)


@handler(parse_upload, ids=("key",))
def start_user_import(upload: Upload, _call: Call) -> dict[str, str]:
    """Start the import of the file of an event *Object Created*. What has none goes to the queue of failures."""
    return {"import_id": uploads().start(upload.bucket, upload.key, upload.version_id)}
