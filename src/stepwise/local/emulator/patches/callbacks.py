"""Tasks that wait for the answer to their token.

A function that raises fails the task at once. `HeartbeatSeconds` ends a silent task. The token of a closed task returns
`TaskTimedOut`.

MiniStack swallows the error and waits for the timeout, ignores the heartbeat, and forgets closed tokens.
"""

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from .scopes import Scope, current

HEARTBEAT = "States.HeartbeatTimeout"


@dataclass
class _Waiting:
    """A task that waits for its token.

    answer: (output, None) or (None, (error, cause)). closed: whether answers no longer count.
    """

    scope: Scope
    heard: float
    answer: tuple[Any, tuple[str, str] | None] | None = None
    closed: bool = False


_waiting: dict[str, _Waiting] = {}
_answering = threading.Lock()


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    stepfunctions._send_task_success = _answered(stepfunctions._send_task_success, _succeed)
    stepfunctions._send_task_failure = _answered(stepfunctions._send_task_failure, _fail)
    stepfunctions._send_task_heartbeat = _answered(stepfunctions._send_task_heartbeat, _beat)


def called_back(send: Callable[[], Any], token: str, seconds: float | None, heartbeat: float | None) -> Any:
    """Wait for the answer to a token. seconds, heartbeat: timeouts, in total and without a sign of life."""
    from ministack.services import stepfunctions

    began, scope = time.monotonic(), current()
    waiting = _waiting[token] = _Waiting(scope, began)
    call = scope.started(send)

    def silent() -> float | None:
        return None if heartbeat is None else waiting.heard + heartbeat - time.monotonic()

    def left() -> float | None:
        ends = [silent(), None if seconds is None else began + seconds - time.monotonic()]
        return min((end for end in ends if end is not None), default=None)

    def over() -> bool:
        return waiting.answer is not None or (call.done() and call.exception() is not None)

    try:
        scope.wait(over, left)
    finally:
        with _answering:
            waiting.closed = True
    if waiting.answer is not None:
        output, error = waiting.answer
        if error is not None:
            raise stepfunctions._ExecutionError(*error)
        return output
    if call.done() and (raised := call.exception()) is not None:
        raise raised
    quiet = silent()
    name = HEARTBEAT if quiet is not None and quiet <= 0 else "States.Timeout"
    raise stepfunctions._ExecutionError(name, "The task has not been answered in time")


def _answered(upstream: Callable[[Any], Any], take: Callable[[_Waiting, Any], str]) -> Callable[[Any], Any]:
    """Wrap an operation that answers a token; `upstream` handles tokens that no task has."""

    def send(data: Any) -> Any:
        from ministack.services import stepfunctions

        waiting = _waiting.get(data.get("taskToken"))
        if waiting is None:
            return upstream(data)
        with _answering:
            if waiting.closed or waiting.answer is not None or waiting.scope.ended:
                return stepfunctions.error_response_json("TaskTimedOut", "The task has expired or was closed", 400)
            if wrong := take(waiting, data):
                return stepfunctions.error_response_json("InvalidOutput", wrong, 400)
        waiting.scope.wake()
        return stepfunctions.json_response({})

    return send


def _succeed(waiting: _Waiting, data: Any) -> str:
    try:
        waiting.answer = (json.loads(data.get("output", "{}")), None)
    except ValueError:
        return "output: must be JSON"
    return ""


def _fail(waiting: _Waiting, data: Any) -> str:
    waiting.answer = (None, (data.get("error", "States.TaskFailed"), data.get("cause", "")))
    return ""


def _beat(waiting: _Waiting, _: Any) -> str:
    waiting.heard = time.monotonic()
    return ""
