"""Results in their stored form, so that a first call returns exactly what its duplicates will get."""

import inspect
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set, Sized, ValuesView
from contextlib import suppress
from dataclasses import fields, is_dataclass
from decimal import Decimal
from typing import Any

from .errors import DeferredResult
from .payloads import canonical_json, read_json

RESULT_LIMIT = 256 * 1024
"""Maximum bytes of a stored result's JSON: the limit of Step Functions, well below DynamoDB's 400 KB."""

# Methods of awaitables, generators and other iterators, context managers, futures of every library, the results of
# `multiprocessing.pool`, and threads and processes.
_DEFERRED = ("__await__", "__next__", "__anext__", "__aiter__", "__enter__", "__aenter__", "done", "ready", "is_alive")
_SCALARS = str | bytes | bytearray | int | float | Decimal | type | None
_CREATES_ONLY = (inspect.iscoroutinefunction, inspect.isgeneratorfunction, inspect.isasyncgenfunction)


def require_plain(*functions: Any) -> None:
    """Raise TypeError for a function whose call only creates a coroutine or a generator. Other values are ignored."""
    for function in functions:
        # An object's own `__call__` may be async.
        if any(creates(part) for creates in _CREATES_ONLY for part in (function, getattr(function, "__call__", None))):  # noqa: B004
            name = getattr(function, "__qualname__", type(function).__name__)
            raise TypeError(
                f"{name} is async or a generator: its call would be recorded before it has run."
                " Give a plain function, such as one that calls asyncio.run"
            )


def finished[R](result: R) -> R:
    """Return a call's result. Raises DeferredResult if it is deferred or has a deferred part, which is then closed."""
    deferred = list(_deferred_in(result))
    for part in deferred:
        with suppress(Exception):
            _close(part)
    if deferred:
        kinds = ", ".join(sorted({type(part).__name__ for part in deferred}))
        raise DeferredResult(f"the result is deferred ({kinds}): return the outcome of the work, in JSON's types")
    return result


def as_stored(result: Any) -> tuple[str, Any]:
    """Return a result's JSON and what a duplicate reads: `(1, 2)` becomes `[1, 2]`, and the key 1 becomes "1".

    Raises TypeError or ValueError for what JSON cannot hold, such as NaN, a set, or keys of different types.
    """
    try:
        text = canonical_json(result)
        return text, read_json(text)
    except RecursionError:
        raise ValueError("the result is nested too deeply for JSON") from None


def storable(result: Any) -> tuple[str | None, Any]:
    """As `as_stored`, but returns None twice for a result that is not JSON, or longer than RESULT_LIMIT."""
    try:
        text, loaded = as_stored(result)
    except (TypeError, ValueError):
        return None, None
    return (text, loaded) if len(text) <= RESULT_LIMIT else (None, None)


def _deferred_in(result: Any) -> Iterator[Any]:
    rest, seen = [result], set[int]()
    while rest:
        part = rest.pop()
        if isinstance(part, _SCALARS) or id(part) in seen:
            continue
        seen.add(id(part))
        if _is_deferred(part):
            yield part
        else:
            rest.extend(_parts(part))


def _is_deferred(part: Any) -> bool:
    kind = type(part)
    # For example, the pages of a boto3 paginator, which are fetched while they are iterated.
    is_lazy = isinstance(part, Iterable) and not isinstance(part, Sized)
    return is_lazy or callable(part) or any(callable(getattr(kind, method, None)) for method in _DEFERRED)


def _parts(part: Any) -> Iterable[Any]:
    match part:
        case Mapping():
            return part.values()
        case Sequence() | Set() | ValuesView() if not isinstance(part, range):
            return part
    return [getattr(part, each.name, None) for each in fields(part)] if is_dataclass(part) else ()


def _close(part: Any) -> None:
    """Close the part, so that it cannot run later and Python does not warn that it never ran."""
    if inspect.iscoroutine(part) or inspect.isgenerator(part):
        part.close()
    elif hasattr(part, "cancel"):
        part.cancel()
