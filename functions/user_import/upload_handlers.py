"""Lambda handler that starts an import when its file is uploaded."""

from functools import cache

from runtime.clients import client
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment

from .uploads import Upload, Uploads, parse_upload


class Environment(StoreEnvironment):
    user_import_arn: str
    user_file_prefix: str


@cache
def uploads() -> Uploads:
    environment = Environment()
    return Uploads(client("stepfunctions"), environment.user_import_arn, environment.user_file_prefix)


@handler(parse_upload, ids=("key",))
def start_user_import(upload: Upload, _call: Call) -> dict[str, str]:
    """Start the import of an uploaded file (event *Object Created*). Failed events go to the dead-letter queue."""
    return {"import_id": uploads().start(upload.bucket, upload.key, upload.version_id)}
