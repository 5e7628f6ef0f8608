"""JSON values of callers: which ones DynamoDB can store, and their sizes."""

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from idempotency.codec import Item
from idempotency.payloads import Number, is_whole, json_text, shortest

MAX_ITEM = 400 * 1024
"""Maximum bytes of a row."""
MAX_DEPTH = 30
"""Maximum depth of a value: DynamoDB nests 32 levels, and attributes are two levels deep themselves."""
# DynamoDB's numbers: their significant digits, and the exponent of the first one.
_MAX_DIGITS = 38
_MIN_EXPONENT, _MAX_EXPONENT = -130, 125
_OUT_OF_RANGE = (
    f"OutOfRange: a number has up to {_MAX_DIGITS} significant digits, and is 0, or from 1E-130 to 9.9E+125 or negative"
)
# A longer one stays a fraction, so that the hash that older releases compare stays the same.
_MAX_WHOLE_FRACTION = 2**53
_MAX_NAME = 65_535  # bytes, in DynamoDB
_MAX_NAME_SHOWN = 64


class Unstorable(ValueError):
    """DynamoDB cannot store the value. path: the path of the value.

    The message says what is wrong and never contains a value.
    """

    def __init__(self, path: str, problem: str) -> None:
        super().__init__(f"{path}: {problem}")


def storable(value: Any, path: str, depth: int = 0) -> Any:
    """Check a JSON value, and make whole numbers integers. Every other number becomes a Decimal. Raises Unstorable."""
    if depth > MAX_DEPTH:
        raise Unstorable(path, f"nested deeper than {MAX_DEPTH} levels")
    match value:
        case str():
            return _text(value, path)
        case bool() | None:
            return value
        case int() | float() | Decimal():
            return _number(value, path)
        case list():
            return [storable(element, f"{path}[{index}]", depth + 1) for index, element in enumerate(value)]
        case dict():
            return {_name(name, path): storable(inner, _below(path, name), depth + 1) for name, inner in value.items()}
    raise Unstorable(path, f"{type(value).__name__} is not JSON")


def json_size(value: Any) -> int:
    """Return the bytes of a JSON value as compact JSON in UTF-8."""
    return len(json_text(value, ensure_ascii=False, separators=(",", ":")).encode())


def item_size(item: Item) -> int:
    """Return the bytes of a row, as DynamoDB counts them or a little more."""
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


def _number(value: Number, path: str) -> int | Decimal:
    exact = shortest(value)
    if not exact.is_finite():
        raise Unstorable(path, "not a number")
    digits, exponent = len(exact.as_tuple().digits), exact.adjusted()
    if exact and not (digits <= _MAX_DIGITS and _MIN_EXPONENT <= exponent <= _MAX_EXPONENT):
        raise Unstorable(path, _OUT_OF_RANGE)
    is_short = exponent < _MAX_DIGITS if isinstance(value, int) else exact.copy_abs() <= _MAX_WHOLE_FRACTION
    if not is_whole(exact):
        return exact
    return int(exact) if is_short else _fraction_of(exact)


def _fraction_of(whole: Decimal) -> Decimal:
    """Return the same number in a form whose JSON has a fraction or an exponent."""
    return whole if "E" in str(whole) else Decimal(f"{whole}.0")
