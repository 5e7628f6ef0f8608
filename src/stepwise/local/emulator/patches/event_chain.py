"""Links each event of a history to the previous one: `previousEventId` keeps branches and iterations apart.

MiniStack omits it. Two of its events that are added at once may also get the same id.
"""

import threading
from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

type Execution = dict[str, Any]

# State of the sequence that this thread runs: its execution, and its last event. A new thread begins with a copy.
_last: ContextVar[tuple[str, int]] = ContextVar("last", default=("", 0))
_adding = threading.Lock()


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._add_event = _chaining(stepfunctions._add_event)


def _chaining(add: Callable[..., dict[str, Any]]) -> Callable[..., dict[str, Any]]:
    def add_event(execution: Execution, kind: str, details: dict[str, Any] | None = None) -> dict[str, Any]:
        arn, last = _last.get()
        before = {"previousEventId": last if arn == execution["executionArn"] else 0}
        with _adding:
            event = add(execution, kind, before | (details or {}))
        _last.set((execution["executionArn"], event["id"]))
        return event

    return add_event
