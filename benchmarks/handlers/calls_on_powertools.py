"""A call that Powertools protects, with payload validation like ours, and a call that fails."""

from collections.abc import Callable
from contextlib import suppress
from typing import Any

from aws_lambda_powertools.utilities.idempotency import (
    DynamoDBPersistenceLayer,
    IdempotencyConfig,
    idempotent_function,
)


class Failed(Exception):
    """The error of the failing call."""


class Context:
    def get_remaining_time_in_millis(self) -> int:
        return 15_000


def protected(client: Any, *, records: str, rows: str) -> tuple[Callable[[str], Any], Callable[[str], None]]:
    """Return a call that puts a row, and one that fails."""
    layer = DynamoDBPersistenceLayer(table_name=records, key_attr="pk", boto3_client=client)
    config = IdempotencyConfig(event_key_jmespath="order_id", payload_validation_jmespath="order_id")
    config.register_lambda_context(Context())

    @idempotent_function(data_keyword_argument="event", persistence_store=layer, config=config)
    def save(event: dict[str, str]) -> dict[str, str]:
        client.put_item(TableName=rows, Item={"pk": {"S": event["order_id"]}, "amount": {"N": "3000"}})
        return event

    @idempotent_function(data_keyword_argument="event", persistence_store=layer, config=config)
    def fail(event: dict[str, str]) -> None:
        raise Failed(event["order_id"])

    def failing(key: str) -> None:
        with suppress(Failed):
            fail(event={"order_id": key})

    return lambda key: save(event={"order_id": key}), failing
