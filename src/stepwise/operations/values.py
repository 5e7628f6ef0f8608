"""Numbers, times and names that people typed, or that rows have as text."""

import re
from datetime import UTC, datetime

_WHOLE, _DECIMAL = re.compile("-?[0-9]{1,38}"), re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""The earliest time that AWS takes."""


def whole_number(text: str) -> int:
    """Read digits of ASCII. Raises ValueError for what `int` reads besides: `1_0`, `+1`, ` 1 `, foreign digits."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no whole number in digits from 0 to 9")
    return int(text)


def decimal_number(text: str) -> float:
    """Read a number such as `0.5`. Raises ValueError for what `float` reads besides, such as `nan` and `1_0`."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is no number in digits from 0 to 9")
    return float(text)


def utc_time(text: str) -> datetime:
    """Read a time in ISO 8601; without an offset it is UTC. Raises ValueError, also if it is in no year of UTC."""
    at = datetime.fromisoformat(text)
    try:
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is in no year of UTC") from None


def in_key(name: str) -> str:
    """The name of a file as a part of a key of S3: `_` for what cannot be printed, such as a byte that is not UTF-8."""
    from runtime.text import UNSAFE_TO_PRINT

    return UNSAFE_TO_PRINT.sub("_", name)


def read_time(at: datetime | str | None) -> datetime | str | None:
    """Read a time of a row; a text that is no time stays a text."""
    try:
        return datetime.fromisoformat(at) if isinstance(at, str) else at
    except ValueError:
        return at
