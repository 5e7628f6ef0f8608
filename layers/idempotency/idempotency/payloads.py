"""Canonical JSON with exact numbers, and hashes of a request."""

import hashlib
import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal, Inexact, InvalidOperation
from math import isfinite
from typing import Any, Self
from uuid import uuid4

MAX_DIGITS = 4300
"""Maximum digits of an integer: Python converts no longer one."""

# A thread's default decimal context rounds to 28 digits.
_EXACT = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN, traps=[Inexact])

type Number = int | float | Decimal

# Only a fraction, an exponent or -0 has a second spelling. Text may contain these too, which costs a little time.
_SPELLED = re.compile(r"[,:[](?:-?[0-9]+[.eE]|-0)")


def json_text(value: Any, *, default: Callable[[Any], Any] | None = None, **options: Any) -> str:
    """Write JSON as `json.dumps` does, but with a Decimal as a number with all its digits.

    default, options: arguments of `json.dumps`. Raises TypeError or ValueError for what JSON cannot hold, such as NaN.
    """
    # json.dumps has no hook for how a number is written. The mark is drawn after the value exists, so no value contains
    # it.
    mark = ""

    def written(other: Any) -> Any:
        nonlocal mark
        if isinstance(other, Decimal) and other.is_finite():
            mark = mark or uuid4().hex
            return f"{mark}{other}{mark}"
        if default:
            return default(other)
        raise TypeError(f"{type(other).__name__} is not JSON")

    text = json.dumps(value, default=written, allow_nan=False, **options)
    return re.sub(f'"{mark}([^"]+){mark}"', r"\1", text) if mark else text


def canonical_json(value: Any) -> str:
    """Write JSON with sorted keys and no white space. Raises as `json_text`."""
    return json_text(value, sort_keys=True, separators=(",", ":"))


def read_json(text: str) -> Any:
    """Parse JSON.

    A fraction becomes a float if one has all its digits, else a Decimal; NaN, which is not JSON, a string.
    Raises ValueError.
    """
    try:
        return json.loads(text, parse_float=_fraction, parse_constant=str)
    except (RecursionError, InvalidOperation):
        raise ValueError("nested too deeply, or a number with an exponent that is too large") from None


def _fraction(text: str) -> float | Decimal:
    exact = Decimal(text)
    return float(exact) if is_float(exact) else exact


def number(value: float | Decimal) -> Number:
    """Normalize a number: an int if it is whole, else a float if one has all its digits, else a Decimal.

    A float counts as its shortest decimal text, in which it was sent.
    """
    if isinstance(value, float) and not value.is_integer():
        return value
    exact = shortest(value)
    if is_whole(exact) and exact.adjusted() < MAX_DIGITS:
        return int(exact)
    return float(exact) if is_float(exact) else exact


def shortest(value: Number) -> Decimal:
    """Strip trailing zeros from the number: 12E+2 for 1200.0."""
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    return exact.normalize(_EXACT) if exact else Decimal(0)


def is_whole(exact: Decimal) -> bool:
    """True if the number is whole. exact: a result of `shortest`."""
    return exact.is_finite() and exact == exact.to_integral_value()


def is_float(value: Decimal) -> bool:
    """True if a float has all digits of the number."""
    found = float(value)
    return isfinite(found) and Decimal(repr(found)) == value


@dataclass(frozen=True, slots=True)
class PayloadHash:
    """Two hashes of one payload, of which a record keeps both if they differ.

    exact: the same for every spelling of a number, such as 1, 1.0 and 10e-1; different for different numbers.
    spelled: the hash that releases without `exact` computed, and compare. In it 1 and 1.0 differ, and digits beyond a
        float's do not count.
    """

    exact: str
    spelled: str

    @classmethod
    def of(cls, payload: Any) -> Self:
        """Hash a payload. Raises TypeError or ValueError if JSON cannot hold it."""
        text = canonical_json(payload)
        if not _SPELLED.search(f":{text}"):
            found = _digest(text)
            return cls(found, found)
        return cls(*(_digest(canonical_json(_each(payload, form))) for form in (number, _as_parsed)))

    @property
    def v2(self) -> str | None:
        """Second hash of a record; None if both hashes are equal."""
        return None if self.exact == self.spelled else self.exact

    @property
    def attributes(self) -> dict[str, str]:
        """Return the hashes as attributes of a record."""
        return {"payload_hash": self.spelled, **({"payload_hash_v2": self.v2} if self.v2 else {})}

    def is_of(self, spelled: str, v2: str | None) -> bool:
        """True if a record with these hashes has this payload."""
        return v2 == self.exact if v2 else spelled in (self.spelled, self.exact)

    def matches(self, record: Mapping[str, Any]) -> bool:
        """True if a record in DynamoDB JSON has this payload."""
        return self.is_of(record["payload_hash"]["S"], record.get("payload_hash_v2", {}).get("S"))


def payload_hash(payload: Any) -> str:
    """SHA-256, in hex, of the payload's canonical JSON, the same for every spelling of a number.

    It covers the request as received, not as this version of the code parses it, so that a step and its compensation
    compute the same hash even if a deployment comes in between.
    """
    return PayloadHash.of(payload).exact


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


def _each(value: Any, form: Callable[[Any], Number]) -> Any:
    """Apply `form` to each number in the value that is not an integer."""
    match value:
        case float() | Decimal():
            return form(value)
        case dict():
            return {name: _each(inner, form) for name, inner in value.items()}
        case list() | tuple():
            return [_each(inner, form) for inner in value]
    return value


def _as_parsed(value: float | Decimal) -> Number:
    """Read the number as `json.loads` does."""
    found = float(value)
    return found if isfinite(found) else value
