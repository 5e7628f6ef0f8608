"""Lambda handler that starts an import when its file is uploaded."""

from dataclasses import dataclass
from functools import cache
from typing import Any

from runtime.clients import client
from runtime.environment import read_environment
from runtime.stores import StoreEnvironment

from .tasks import LambdaContext, logged
from .uploads import Uploads


@dataclass(frozen=True, slots=True)
class Environment(StoreEnvironment):
    user_import_arn: str
    user_file_prefix: str


@cache
def uploads() -> Uploads:
    environment = read_environment(Environment)
    return Uploads(client("stepfunctions"), environment.user_import_arn, environment.user_file_prefix)


def start_user_import(event: dict[str, Any], _context: LambdaContext) -> dict[str, str]:
    """Start the import of an uploaded file (event *Object Created*). Failed events go to the dead-letter queue."""
    detail = event["detail"]
    with logged("start_user_import", key=detail["object"]["key"]):
        uploaded = detail["object"]
        return {"import_id": uploads().start(detail["bucket"]["name"], uploaded["key"], uploaded["version-id"])}
