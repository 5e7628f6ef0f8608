"""Times as rows have them."""

from datetime import datetime


def read_time(at: datetime | str | None) -> datetime | str | None:
    """A text as the time that it is in ISO 8601; a text that is no time, unchanged."""
    try:
        return datetime.fromisoformat(at) if isinstance(at, str) else at
    except ValueError:
        return at
