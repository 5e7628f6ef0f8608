"""Leases as decorators: one for Lambda handlers, one for functions."""

import inspect
import logging
from collections.abc import Callable, Mapping
from datetime import timedelta
from enum import Enum
from functools import wraps
from typing import Any, Protocol

from .errors import AlreadyInProgress, InvalidKey
from .leases import LeaseStore
from .resolution import Resolution
from .results import finished, require_plain
from .work import Work

type Selector = str | Callable[..., Any]
"""A field's path ("detail.object.key"), or a function of the call's arguments."""

_logger = logging.getLogger(__name__)


class LambdaContext(Protocol):
    """The part of Lambda's context object that the layer uses."""

    def get_remaining_time_in_millis(self) -> int: ...


class InProgress(Enum):
    """Behavior of a handler when another invocation holds the lease of its key."""

    RAISE = "raise"
    """Raise AlreadyInProgress, for callers that retry, such as a state machine or a queue."""
    END = "end"
    """Log one WARNING line and return None: for asynchronous events, where the lease's owner has the same event."""


def idempotent_handler(
    store: Callable[[], LeaseStore],
    work: Work,
    *,
    key: Selector,
    payload: Selector | None = None,
    in_progress: InProgress = InProgress.RAISE,
    wait: timedelta = timedelta(0),
    resolve: Callable[[Any, Any], Resolution[Any]] | None = None,
) -> Callable[[Callable[..., Any]], Callable[[Any, Any], Any]]:
    """Let a Lambda handler do its work once for each key.

    Its lease lasts for `Work.duration`, or until the invocation times out.

    store: called at each invocation, never at import.
    key, payload: a path in the event, or a function of it. The default payload is the whole event.
    in_progress, wait: what to do while another invocation holds the lease, and how long to wait for it first.
    resolve: see `LeaseStore.run`; called with event and context.
    A handler with a parameter `lease` gets the `Lease`, to extend or complete it.

    Raises TypeError when it decorates an async function or a generator. The handler returns and raises what
    `LeaseStore.run` does; InvalidKey names the path.
    """

    def decorate(handler: Callable[..., Any]) -> Callable[[Any, Any], Any]:
        require_plain(handler, resolve, store, key, payload)
        lease_wanted = "lease" in inspect.signature(handler).parameters

        @wraps(handler)
        def idempotent(event: Any, context: LambdaContext) -> Any:
            leases = store()
            business_id = _key(key, event, event)
            try:
                return leases.run(
                    work,
                    business_id,
                    event if payload is None else _selected(payload, event, event),
                    lambda lease: handler(event, context, **({"lease": lease} if lease_wanted else {})),
                    deadline=leases.clock() + timedelta(milliseconds=context.get_remaining_time_in_millis()),
                    wait=wait,
                    resolve=(lambda: resolve(event, context)) if resolve else None,
                )
            except AlreadyInProgress as error:
                if in_progress is InProgress.RAISE or error.key != work.record_key(business_id):
                    raise
                # The queries of docs/operations.md match the message; `meaning` says the same in English.
                meaning = "the Lambda function was started more than once; this invocation ends"
                _logger.warning(
                    "lambdaが多重起動したため処理を終了しました。", extra={"work": error.key, "meaning": meaning}
                )
                return None

        return idempotent

    return decorate


def idempotent_function[**P, R](
    store: Callable[[], LeaseStore],
    work: Work,
    *,
    key: Selector,
    payload: Selector,
    wait: timedelta = timedelta(0),
    resolve: Callable[P, Resolution[R]] | None = None,
) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Let a function do its work once for each key.

    The function has a parameter `deadline`: when its invocation times out, aware UTC. Its lease expires then, too.
    store: called at each call, never at import.
    key, payload: a path that starts with a parameter's name ("order.order_id"), or a function of the same arguments.
        The payload tells two requests apart: anything that JSON can hold.
    wait: how long to wait for another owner.
    resolve: see `LeaseStore.run`; called with the function's arguments.

    Raises TypeError when it decorates a function without `deadline`, an async function or a generator. The function
    returns and raises what `LeaseStore.run` does.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        require_plain(function, resolve, store, key, payload)
        signature = inspect.signature(function)
        if "deadline" not in signature.parameters:
            raise TypeError(f"{function.__qualname__} needs a parameter `deadline`: when its invocation ends")

        @wraps(function)
        def idempotent(*args: P.args, **kwargs: P.kwargs) -> R:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            return store().run(
                work,
                _key(key, bound.arguments, *args, **kwargs),
                _selected(payload, bound.arguments, *args, **kwargs),
                lambda _: function(*args, **kwargs),
                deadline=bound.arguments["deadline"],
                wait=wait,
                resolve=(lambda: resolve(*args, **kwargs)) if resolve else None,
            )

        return idempotent

    return decorate


def _key(selector: Selector, root: Any, *args: Any, **kwargs: Any) -> str:
    """Return the key that the selector finds. Raises InvalidKey unless it is an integer or a non-empty string."""
    found = _selected(selector, root, *args, **kwargs)
    if isinstance(found, str) and found:
        return found
    if isinstance(found, int) and not isinstance(found, bool):
        return str(found)
    name = selector if isinstance(selector, str) else "the key"
    raise InvalidKey(f"{name}: expected an integer or a non-empty string")


def _selected(selector: Selector, root: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the value at a path that starts at `root`, or the function's result for the arguments."""
    if not isinstance(selector, str):
        return finished(selector(*args, **kwargs))
    for field in selector.split("."):
        root = root.get(field) if isinstance(root, Mapping) else getattr(root, field, None)
        if root is None:
            raise InvalidKey(f"{selector}: no field {field}")
    return root
