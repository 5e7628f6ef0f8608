"""The work of items: a call of an outside system that repeats the work at every call."""

from collections.abc import Callable
from typing import Any

from botocore.exceptions import HTTPClientError
from msgspec import Struct

from idempotency import NEVER_HAPPENED, BusinessError, Happened, TransientError, Unknown, Work
from tasks.types import Run, TaskType
from tests.faults.seams import Document
from tests.faults.tasks.plan import BAD, DEFECT

_SERVICE = "outside"


class Refused(BusinessError):
    """The work was not done, and never will be."""


class NotAsked(TransientError):
    """The outside system was too busy: nothing was done."""


class Unanswered(TransientError):
    """The work may have been done."""


class Text(Struct, frozen=True, forbid_unknown_fields=True):
    """The content of an item."""

    text: str


def types(engine: Any) -> list[TaskType]:
    """Return the task types of plan.TYPES."""

    def made(_environment: Any, _clients: Any) -> Callable[[Text, Run], Document]:
        return lambda item, run: _done(engine, item, run)

    def resolver(_environment: Any, _clients: Any) -> Callable[[Text, Run], Any]:
        def resolve(_item: Text, run: Run) -> Any:
            done = _asked(engine, "FindWork", lambda: engine.on.outside_has(run.key))
            return Happened({"key": run.key}) if done else NEVER_HAPPENED

        return resolve

    harmless = (NotAsked,)
    return [
        TaskType("repeatable", Text, made),
        TaskType("resolved", Text, made, Work("Resolved", Unknown.RESOLVE, harmless=harmless), resolver),
        TaskType("held", Text, made, Work("Held", Unknown.HOLD, harmless=harmless)),
    ]


def _done(engine: Any, item: Text, run: Run) -> Document:
    with engine.on.working(run.key):
        if item.text.startswith(BAD):
            raise Refused("nobody does this")
        if item.text.startswith(DEFECT):
            raise KeyError(item.text)
        _asked(engine, "DoWork", lambda: engine.on.work_is_done(run.key))
    return {"key": run.key}


def _asked(engine: Any, operation: str, answer: Callable[[], object]) -> Any:
    """Call the outside system through a client without retries."""
    engine.call(f"{_SERVICE}.{operation}")
    found: list[object] = []
    try:
        status, *_ = engine.sent(_SERVICE, lambda: (200, {}, found.append(answer())), b"")
    except HTTPClientError as error:
        raise Unanswered(operation) from error
    if status != 200:
        raise NotAsked(operation)
    return found[0]
