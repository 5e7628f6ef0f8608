"""The shape of an AWS response."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

type Parameters = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Refusal:
    """An error of a service. more: further fields of the response."""

    code: str
    more: Mapping[str, Any] = field(default_factory=dict)


type Answer = Mapping[str, Any] | Refusal


def tables(parameters: Parameters) -> set[str | None]:
    """The tables that a DynamoDB request names; only None for another service's request."""
    actions = (body for entry in parameters.get("TransactItems", ()) for body in entry.values())
    return {parameters.get("TableName"), *parameters.get("RequestItems", ()), *(one["TableName"] for one in actions)}
