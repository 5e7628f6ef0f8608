"""Filters of lists, read from the address."""

from collections.abc import Collection
from datetime import datetime

from stepwise.operations.errors import CommandError
from stepwise.operations.values import EARLIEST, utc_time

from .pages import Visit


class InvalidFilter(CommandError):
    """A filter in the address has an invalid value."""


def one_of(visit: Visit, name: str, allowed: Collection[str], usual: str = "") -> str:
    """Return one of these values; the default if the address has none. Raises InvalidFilter."""
    asked = visit.asked(name) or usual
    if asked and asked not in allowed:
        raise InvalidFilter(f"{name}: {asked!r} is none of {', '.join(allowed)}")
    return asked


def moment(visit: Visit, name: str) -> datetime | None:
    """Read a time of the query, in UTC; without an offset it is UTC. Raises InvalidFilter."""
    asked = visit.asked(name)
    try:
        at = utc_time(asked) if asked else None
    except ValueError:
        raise InvalidFilter(f"{name}: {asked!r} is no time (ISO 8601)") from None
    if at and at < EARLIEST:
        raise InvalidFilter(f"{name}: {asked!r} is before 1970")
    return at
