"""The DynamoDB client, and the way from Python values to DynamoDB's own JSON."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from boto3.dynamodb.types import TypeSerializer

from idempotency import Action

from .clients import client

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def dynamodb() -> "DynamoDBClient":
    """The client of this execution environment."""
    made: DynamoDBClient = client("dynamodb")
    return made


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
