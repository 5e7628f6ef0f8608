"""JSON values in DynamoDB's own JSON and back, and their sizes."""

import json
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from runtime.dynamodb import attribute

type Item = Mapping[str, Any]
"""A row, or a map, in DynamoDB's own JSON."""

MAX_ITEM = 400 * 1024
"""Bytes of a row."""
MAX_DEPTH = 30
"""DynamoDB nests 32 levels, and the attributes are two levels deep themselves."""
_MAX_INTEGER = 10**38 - 1
# DynamoDB's range of numbers that are not whole.
_MIN_REAL, _MAX_REAL = 1e-130, 9.9e125
# Beyond it, a float that looks whole has lost digits.
_MAX_WHOLE_FLOAT = 2**53
_MAX_NAME = 65_535  # bytes, in DynamoDB
_MAX_NAME_SHOWN = 64


class Unstorable(ValueError):
    """DynamoDB cannot store the value. path: of the value. The message says what is wrong and never has a value."""

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def storable(value: Any, path: str, depth: int = 0) -> Any:
    """Check a JSON value, and make whole floats integers, so that 1 and 1.0 are the same. Raises Unstorable."""
    if depth > MAX_DEPTH:
        raise Unstorable(path, f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            return _text(value, path)
        case bool() | None:
            return value
        case int() | float():
            return _number(value, path)
        case list():
            return [storable(element, f"{path}[{index}]", depth + 1) for index, element in enumerate(value)]
        case dict():
            return {_name(name, path): storable(inner, _below(path, name), depth + 1) for name, inner in value.items()}
    raise Unstorable(path, f"{type(value).__name__} is not JSON")


def to_value(value: Any) -> dict[str, Any]:
    """A value that `storable` returned, in DynamoDB's own JSON."""
    return attribute(value, _real)


def _real(value: float) -> dict[str, str]:
    return {"N": str(Decimal(repr(value)))}


def from_item(item: Item) -> dict[str, Any]:
    """The JSON values of a row, or a map, in DynamoDB's own JSON."""
    return {name: from_value(value) for name, value in item.items()}


def from_value(value: Mapping[str, Any]) -> Any:
    """The JSON value of a value in DynamoDB's own JSON."""
    ((kind, held),) = value.items()
    match kind:
        case "N":
            return _plain_number(held)
        case "NULL":
            return None
        case "L":
            return [from_value(element) for element in held]
        case "M":
            return from_item(held)
    return held


def json_size(value: Any) -> int:
    """Bytes of a JSON value as compact JSON in UTF-8."""
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode())


def item_size(item: Item) -> int:
    """Bytes of a row, as DynamoDB counts them or a little more."""
    return sum(len(name.encode()) + _value_size(value) for name, value in item.items())


def _value_size(value: Mapping[str, Any]) -> int:
    ((kind, held),) = value.items()
    match kind:
        case "S":
            return len(held.encode())
        case "N":
            return (len(held) + 1) // 2 + 1 + int(held.startswith("-"))
        case "L":
            return 3 + sum(1 + _value_size(element) for element in held)
        case "M":
            return 3 + len(held) + item_size(held)
        case "SS" | "NS":
            return sum(len(element) + 3 for element in held)
    return 1


def _text(value: str, path: str) -> str:
    try:
        value.encode()
    except UnicodeEncodeError:
        raise Unstorable(path, "not valid Unicode") from None
    return value


def _name(name: str, path: str) -> str:
    if not name:
        raise Unstorable(path, "has a field without a name")
    if len(_text(name, f"{path}: the name of a field").encode()) > _MAX_NAME:
        raise Unstorable(path, f"the name of a field has more than {_MAX_NAME} bytes")
    return name


def _below(path: str, name: str) -> str:
    return f"{path}.{name[:_MAX_NAME_SHOWN]}"


def _number(value: float, path: str) -> int | float:
    if isinstance(value, float) and value.is_integer() and abs(value) <= _MAX_WHOLE_FLOAT:
        value = int(value)
    if isinstance(value, int):
        if abs(value) > _MAX_INTEGER:
            raise Unstorable(path, "a whole number of more than 38 digits")
        return value
    if not _MIN_REAL <= abs(value) <= _MAX_REAL:
        raise Unstorable(path, "not a number from 1E-130 to 9.9E+125")
    return value


def _plain_number(text: str) -> int | float:
    number = Decimal(text)
    return int(number) if number == number.to_integral_value() and abs(number) <= _MAX_INTEGER else float(number)
