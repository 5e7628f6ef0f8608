"""user_create on Powertools: Logger, Tracer, idempotency by row, and the same clients."""

from functools import cache
from typing import Any

import boto3
import msgspec
from aws_lambda_powertools import Logger, Tracer
from aws_lambda_powertools.utilities.idempotency import DynamoDBPersistenceLayer, IdempotencyConfig, idempotent


class Source(msgspec.Struct, frozen=True):
    key: str
    version_id: str


class UserCreate(msgspec.Struct, frozen=True):
    import_id: str
    source: Source
    columns: tuple[str, ...]
    instance_id: str | None
    row: str


logger = Logger(service="users")
tracer = Tracer(service="users", patch_modules=["botocore"])
records = DynamoDBPersistenceLayer(table_name="idempotency")
config = IdempotencyConfig(event_key_jmespath="[import_id, row]", raise_on_no_idempotency_key=True)


@cache
def clients() -> tuple[Any, Any]:
    return boto3.client("s3"), boto3.client("connect")


@logger.inject_lambda_context
@tracer.capture_lambda_handler
def user_create(event: dict[str, Any], context: Any) -> str:
    call = msgspec.convert(event, UserCreate)
    config.register_lambda_context(context)
    tracer.put_annotation("import_id", call.import_id)
    clients()
    created: str = _create(event, context)
    return created


@idempotent(persistence_store=records, config=config)
def _create(event: dict[str, Any], _context: Any) -> str:
    return str(event["row"])
