"""The execution of a saga, even if somebody started it under another name than its id."""

from datetime import datetime, timedelta

from idempotency.saga import Saga
from ordering.definition import ORDER_SAGA

from .executions import Execution, find, under_another_name
from .stack import Stack

# The longest that an execution may have run before its first step wrote.
_LIFE = timedelta(days=1)


def saga_of(stack: Stack, saga_id: str, created_at: object, saga: Saga = ORDER_SAGA) -> Execution | None:
    """Return the execution of a saga: the one named after its id, or one that somebody started under another name.

    created_at: when its first step wrote, in ISO 8601; without it, only the name is tried.
    """
    found, at = find(stack, saga.machine, saga_id), _moment(created_at)
    if found or at is None:
        return found
    return under_another_name(stack, saga, saga_id, at - _LIFE, at)


def _moment(text: object) -> datetime | None:
    """Parse an aware time; None if a row written by hand has another value."""
    try:
        at = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return at if at.tzinfo else None
