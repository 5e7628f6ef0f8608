"""The DynamoDB client with its time-outs, and the way from Python values to DynamoDB's own JSON."""

from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
from boto3.dynamodb.types import TypeSerializer
from botocore.config import Config

from idempotency import Action

from .tracing import trace_aws_calls

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# Two tries of at most 1 + 2 s each, and up to 1 s between them: even the two calls of a tombstone end before the
# function's time-out of 15 s. A lost answer becomes StoreUnavailable, not a time-out, which would say nothing.
_CONFIG = Config(connect_timeout=1, read_timeout=2, retries={"mode": "standard", "total_max_attempts": 2})


@cache
def dynamodb() -> "DynamoDBClient":
    """The client of this execution environment, made at its first use."""
    trace_aws_calls()
    return boto3.client("dynamodb", config=_CONFIG)


def attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping of Python values in DynamoDB's own JSON. Floats are refused with a TypeError: money is an integer."""
    serializer = TypeSerializer()
    return {name: serializer.serialize(value) for name, value in values.items()}


def absent(table: str, **key: str) -> Action:
    """An action of a transaction: check that no row has this primary key (given as attribute=value)."""
    (name,) = key
    return {
        "ConditionCheck": {
            "TableName": table,
            "Key": attributes(key),
            "ConditionExpression": f"attribute_not_exists({name})",
        }
    }
