"""Numbers, times and names that people typed, or that rows have as text."""

import re
from datetime import UTC, datetime

_WHOLE, _DECIMAL = re.compile("-?[0-9]{1,38}"), re.compile(r"-?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)")


EARLIEST = datetime(1970, 1, 1, tzinfo=UTC)
"""The earliest time that AWS accepts."""


def whole_number(text: str) -> int:
    """Read ASCII digits. Raises ValueError for other text that `int` reads: `1_0`, `+1`, ` 1 `, foreign digits."""
    if not _WHOLE.fullmatch(text):
        raise ValueError(f"{text!r} is no whole number in digits from 0 to 9")
    return int(text)


def decimal_number(text: str) -> float:
    """Read a number such as `0.5`. Raises ValueError for other text that `float` reads, such as `nan` and `1_0`."""
    if not _DECIMAL.fullmatch(text):
        raise ValueError(f"{text!r} is no number in digits from 0 to 9")
    return float(text)


def utc_time(text: str) -> datetime:
    """Read a time in ISO 8601; without an offset it is UTC.

    Raises ValueError, even for a time outside the years of UTC.
    """
    at = datetime.fromisoformat(text)
    try:
        return at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC)
    except OverflowError:
        raise ValueError(f"{text!r} is in no year of UTC") from None


def in_key(name: str) -> str:
    """Convert a file's name to a part of an S3 key, with `_` for unprintable characters, such as a non-UTF-8 byte."""
    from runtime.text import UNSAFE_TO_PRINT

    return UNSAFE_TO_PRINT.sub("_", name)


def read_time(at: datetime | str | None) -> datetime | str | None:
    """Read a time of a row; other text stays text."""
    try:
        return datetime.fromisoformat(at) if isinstance(at, str) else at
    except ValueError:
        return at
