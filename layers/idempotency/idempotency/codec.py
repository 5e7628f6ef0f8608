"""Python values in DynamoDB's own JSON, and back."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from .payloads import number, shortest

type Item = Mapping[str, Any]
"""A row, or a map, in DynamoDB's own JSON."""


def to_item(values: Mapping[str, Any], *, fractions: bool = False) -> dict[str, Any]:
    """Convert the values of a row or a map, each with `to_value`."""
    return {name: to_value(value, fractions=fractions) for name, value in values.items()}


def to_value(value: Any, *, fractions: bool = False) -> dict[str, Any]:
    """Convert one value: a str, int, bool, None, list, tuple or mapping of these, or a set.

    A frozenset of strings or integers becomes a set; it must not be empty.
    fractions: if true, a float or Decimal becomes a number, as in callers' documents. Otherwise it is refused, because
    money is an integer.
    Raises TypeError for anything else.
    """
    match value:
        case str():
            return {"S": str(value)}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case None:
            return {"NULL": True}
        case list() | tuple():
            return {"L": [to_value(element, fractions=fractions) for element in value]}
        case Mapping():
            return {"M": to_item(value, fractions=fractions)}
        case frozenset() if value:
            elements = [to_value(element) for element in sorted(value)]
            ((kind, _),) = elements[0].items()
            return {f"{kind}S": [element[kind] for element in elements]}
        case float() | Decimal() if fractions:
            return {"N": str(shortest(value))}
    raise TypeError(f"no DynamoDB type for {type(value).__name__}")


def from_item(item: Item) -> dict[str, Any]:
    """Convert the values of a row or a map back to Python."""
    return {name: from_value(value) for name, value in item.items()}


def from_value(value: Mapping[str, Any]) -> Any:
    """Convert a value back: a JSON value, or a frozenset. A fraction is a Decimal if no float holds all its digits."""
    ((kind, held),) = value.items()
    match kind:
        case "N":
            return number(Decimal(held))
        case "NULL":
            return None
        case "L":
            return [from_value(element) for element in held]
        case "M":
            return from_item(held)
        case "SS":
            return frozenset(held)
        case "NS":
            return frozenset(number(Decimal(element)) for element in held)
    return held
