"""The DynamoDB client."""

from typing import TYPE_CHECKING

from .clients import client

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def dynamodb() -> "DynamoDBClient":
    """Return the client of this execution environment."""
    made: DynamoDBClient = client("dynamodb")
    return made
