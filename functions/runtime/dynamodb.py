"""The DynamoDB client, and the conversion of Python values to DynamoDB JSON."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from .clients import client

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


def dynamodb() -> "DynamoDBClient":
    """The client of this execution environment."""
    made: DynamoDBClient = client("dynamodb")
    return made


def attributes(values: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping of str, int, bool, None, lists and mappings of these, in DynamoDB JSON.

    Raises TypeError for anything else, also for floats: money is an integer.
    """
    return {name: attribute(value) for name, value in values.items()}


def _refused(value: Any) -> dict[str, Any]:
    raise TypeError(f"no DynamoDB type for {type(value).__name__}")


def attribute(value: Any, other: Callable[[Any], dict[str, Any]] = _refused) -> dict[str, Any]:
    """One value in DynamoDB JSON. other: converts what `attributes` refuses."""
    match value:
        case str():
            return {"S": value}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case None:
            return {"NULL": True}
        case list() | tuple():
            return {"L": [attribute(element, other) for element in value]}
        case Mapping():
            return {"M": {name: attribute(element, other) for name, element in value.items()}}
    return other(value)
