"""A first call returns and raises the same as its duplicates, and a deferred result is never recorded."""

import asyncio
import concurrent.futures
import enum
import functools
import threading
import warnings
from collections import OrderedDict, deque, namedtuple
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from decimal import Decimal
from multiprocessing.pool import ApplyResult, ThreadPool
from typing import Any

import boto3
import pytest

from idempotency import (
    BusinessError,
    Happened,
    InvalidKey,
    ResultUnavailable,
    StoredFailure,
    Work,
    idempotent_function,
    idempotent_handler,
)
from idempotency.results import require_plain
from tests.store.booking import A, Saga
from tests.store.charging import RESOLVE, RUN_AGAIN, Charge, Context, every_policy, must_not_run
from tests.store.database import Database


class Colour(enum.StrEnum):
    RED = "red"
    done = "done"


class Size(enum.IntEnum):
    SMALL = 1


@dataclass
class Point:
    x: Any = 1


Pair = namedtuple("Pair", "a b")  # a tuple with names is stored as a list
Progress = namedtuple("Progress", "done ready")
SAVED: list[tuple[Any, Any]] = [
    ((1, 2), [1, 2]),
    ({1: "a"}, {"1": "a"}),
    ({None: 1}, {"null": 1}),
    ({True: 1, 2.5: 2}, {"true": 1, "2.5": 2}),
    ({"colour": Colour.RED, "size": Size.SMALL}, {"colour": "red", "size": 1}),
    (Pair(1, (2,)), [1, [2]]),
    (Progress(1, 2), [1, 2]),
    (Colour.done, "done"),
    (OrderedDict(b=1, a=(2,)), {"a": [2], "b": 1}),
    (10**30, 10**30),
    (-0.0, -0.0),
    (Decimal("1.50"), 1.5),
    (Decimal("12345678901234567890.5"), Decimal("12345678901234567890.5")),
    ("half \ud800 a surrogate", "half \ud800 a surrogate"),
    (None, None),
]
UNSTORABLE = [
    *({1, 2}, b"bytes", datetime(2026, 1, 1, tzinfo=UTC), Point(), object(), Point, float("nan")),
    *([float("inf")], {"a": {1, 2}}, {1: "a", "1": "b"}, {(1, 2): 3}, 10**5000, "x" * (256 * 1024)),
    functools.reduce(lambda inner, _: [inner], range(100_000), []),
]


async def works() -> str:
    return "done"


async def streams() -> Any:
    yield "done"


def generates() -> Iterator[str]:
    yield "done"


class Works:
    async def __call__(self, *_: Any) -> str:
        return "done"


class Awaitable:
    def __await__(self) -> Any:
        yield


@contextmanager
def opens() -> Iterator[str]:
    yield "done"


def pages() -> Any:
    client = boto3.client("dynamodb", "us-east-1", aws_access_key_id="test", aws_secret_access_key="test")
    return client.get_paginator("scan").paginate(TableName="rows")


def pooled() -> ApplyResult[str]:
    with ThreadPool(1) as pool:
        return pool.apply_async(str)


ASYNC: list[Callable[..., Any]] = [works, streams, generates, functools.partial(works), Works(), Works().__call__]
DEFERRED: dict[str, Callable[[], Any]] = {
    "a coroutine": lambda: works(),
    "an async generator": lambda: streams(),
    "a generator": lambda: generates(),
    "an iterator": lambda: map(str, [1]),
    "an iterator of a list": lambda: iter([1]),
    "an awaitable": Awaitable,
    "a future": concurrent.futures.Future,
    "a function": lambda: works,
    "a partial function": lambda: functools.partial(print),
    "a context manager": lambda: opens(),
    "pages that no call has fetched": pages,
    "a result of a pool": pooled,
    "a thread that has not started": lambda: threading.Thread(target=works),
    "a coroutine in a deque": lambda: deque([works()]),
    "coroutines in a view": lambda: {"a": works()}.values(),
    "a coroutine in a dataclass": lambda: [Point(works())],
    "coroutines in a list": lambda: [works(), {"a": (works(),)}],
    "a generator as a value": lambda: {"rows": generates()},
    "a coroutine beside what is not JSON": lambda: {"a": float("nan"), "b": works(), "c": {1}},
}
every_deferred = pytest.mark.parametrize("deferred", DEFERRED.values(), ids=DEFERRED)


@pytest.fixture
def charge(ministack: Database) -> Charge:
    return Charge(ministack, ministack.shared)


@pytest.fixture(autouse=True)
def _no_coroutine_is_left() -> Iterator[None]:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


def exact(value: Any) -> str:
    """Replaces a value so that 1, True and 1.0, or a list and a tuple, differ."""
    return repr(value)


# --- results ---


@pytest.mark.parametrize(("result", "stored"), SAVED, ids=repr)
def test_first_call_returns_the_same_as_its_duplicate(charge: Charge, result: Any, stored: Any) -> None:
    first, second = charge.run(lambda _: result), charge.run(must_not_run)

    assert exact(first) == exact(second) == exact(stored)


@pytest.mark.parametrize("result", UNSTORABLE, ids=lambda result: type(result).__name__)
def test_unstorable_result_is_unavailable_to_the_first_call_too(
    charge: Charge, result: Any, caplog: pytest.LogCaptureFixture
) -> None:
    for work in (lambda _: result, must_not_run):
        with pytest.raises(ResultUnavailable, match=charge.key):
            charge.run(work)

    assert charge.status == "COMPLETED"
    assert [line.getMessage() for line in caplog.records] == [
        "the result is not JSON, or too large to be stored",
    ]


def test_result_is_safe_from_changes_by_its_caller(charge: Charge) -> None:
    own = {"rows": [1]}
    first = charge.run(lambda _: own)
    own["rows"].append(2)
    first["rows"].append(3)

    assert charge.run(must_not_run) == {"rows": [1]}


def test_resolved_result_is_returned_as_stored(charge: Charge) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()

    assert exact(resolving.run(must_not_run, resolve=lambda: Happened((1, 2)))) == "[1, 2]"
    assert exact(resolving.run(must_not_run, resolve=must_not_run)) == "[1, 2]"


@pytest.mark.parametrize(("result", "stored"), [({"a": (1, {2: Colour.RED})}, {"a": [1, {"2": "red"}]})])
def test_first_call_of_a_step_returns_the_same_as_its_duplicate(saga: Saga, result: Any, stored: Any) -> None:
    assert [exact(saga.commit(A, result)) for _ in range(2)] == [exact(stored)] * 2


@pytest.mark.parametrize("result", [{"a": {1}}, {"a": works}, {"a": Decimal("NaN")}])
def test_step_whose_result_is_not_json_writes_nothing(saga: Saga, result: Any) -> None:
    with pytest.raises(TypeError):
        saga.commit(A, result)

    assert saga.found().record is None


# --- deferred results ---


@pytest.mark.parametrize("function", ASYNC, ids=lambda function: type(function).__name__)
def test_async_functions_and_generators_are_rejected_before_any_write(charge: Charge, function: Any) -> None:
    def plain(deadline: datetime) -> str:
        return "done"

    handler = idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id")
    resolving = idempotent_function(lambda: charge.store, RESOLVE, key="deadline", payload="deadline", resolve=function)
    for refused in (
        lambda: charge.run(function),
        lambda: charge.under(RESOLVE).run(must_not_run, resolve=function),
        lambda: handler(function),
        lambda: resolving(plain),
    ):
        with pytest.raises(TypeError, match="async or a generator"):
            refused()

    assert charge.row is None


@every_policy
@every_deferred
def test_deferred_result_leaves_the_outcome_unknown(charge: Charge, work: Work, deferred: Callable[[], Any]) -> None:
    policy = replace(work, final=(Exception,), harmless=())
    with pytest.raises(TypeError, match="deferred"):
        charge.under(policy).run(lambda _: deferred(), resolve=must_not_run if work is RESOLVE else None)

    assert charge.status == {"NEVER": "RELEASED", "HOLD": "HELD"}.get(work.unknown.name, "UNKNOWN")


@every_deferred
def test_deferred_resolution_decides_nothing(charge: Charge, deferred: Callable[[], Any]) -> None:
    resolving = charge.under(RESOLVE)
    resolving.breaks_off()
    for resolve in (deferred, lambda: Happened(deferred())):
        with pytest.raises(TypeError, match="deferred"):
            resolving.run(must_not_run, resolve=resolve)

    assert charge.status == "UNKNOWN"


def test_handler_that_returns_a_coroutine_completes_nothing(charge: Charge) -> None:
    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id")
    def handler(_event: Any, _context: Any) -> Any:
        return works()

    with pytest.raises(TypeError, match="deferred"):
        handler({"id": charge.id}, Context())
    assert charge.status == "UNKNOWN"


def test_handler_that_runs_its_coroutine_is_accepted(charge: Charge) -> None:
    @idempotent_handler(lambda: charge.store, RUN_AGAIN, key="id")
    @functools.wraps(works)
    def handler(_event: Any, _context: Any) -> Any:
        return asyncio.run(works())

    assert [handler({"id": charge.id}, Context()) for _ in range(2)] == ["done"] * 2


def test_pending_future_is_cancelled(charge: Charge) -> None:
    future: concurrent.futures.Future[Any] = concurrent.futures.Future()
    with pytest.raises(TypeError):
        charge.run(lambda _: future)

    assert future.cancelled()


def test_deferred_undo_compensates_nothing(saga: Saga) -> None:
    saga.commit()
    undone: list[str] = []

    async def cancel() -> None:
        undone.append("late")

    for outside, status in ((cancel, "COMMITTED"), (lambda: cancel(), "COMPENSATING")):
        with pytest.raises(TypeError):
            saga.compensate(outside=outside)
        assert saga.status == status
    assert saga.compensate(outside=lambda: undone.append("now")) == {"undone": True}
    assert undone == ["now"]


def test_plain_functions_are_accepted() -> None:
    require_plain(print, Point, functools.partial(print), lambda: None, Charge.lease, "id", None)


# --- errors ---


class Spoken(BusinessError):
    def __init__(self, limit: int, *, asked: int) -> None:
        super().__init__(limit, asked)
        self.limit, self.asked = limit, asked

    def __str__(self) -> str:
        return f"{self.asked} of {self.limit}"


class Quoted(KeyError):
    """An error whose `str` quotes its argument."""


class Built(BusinessError):
    def __new__(cls, first: int, second: int) -> "Built":
        return super().__new__(cls, first, second)

    def __init__(self, first: int, second: int) -> None:
        super().__init__(f"{first} and {second}")


class Several(ExceptionGroup[Exception]):
    """An error with several causes."""


class System(OSError):
    """An error with an errno."""


@dataclass(frozen=True)
class Counted(BusinessError):
    """An error whose message is its argument, and whose `repr` needs an extra attribute."""

    number: int


class Sealed(BusinessError):
    """An error that has neither subclasses nor a message."""

    def __init_subclass__(cls) -> None:
        raise TypeError("no subclasses")

    def __str__(self) -> str:
        return f"sealed {self.number}"


def noted() -> Exception:
    error = BusinessError("noted")
    error.add_note("half \ud800 a surrogate")
    return error


@pytest.mark.parametrize(
    "error",
    [
        Spoken(100, asked=4200),
        Counted(7),
        Quoted("the key"),
        KeyError("the key"),
        Built(1, 2),
        Several("two", [ValueError("a"), ValueError("b")]),
        System(2, "no such file", "name"),
        UnicodeDecodeError("utf-8", b"x", 0, 1, "broken"),
        noted(),
        BusinessError(),
        BusinessError("one", "two"),
    ],
    ids=lambda error: type(error).__name__,
)
def test_every_stored_error_is_raised_again_with_its_message(charge: Charge, error: Exception) -> None:
    work = replace(RUN_AGAIN, final=(BusinessError, type(error)))
    message = str(error)
    for _ in range(2):
        with pytest.raises(type(error)) as caught:
            charge.under(work).run(fails(error))
        assert (type(caught.value).__name__, str(caught.value)) == (type(error).__name__, message)
        assert type(error).__name__ in repr(caught.value)
    assert charge.status == "FAILED"


def test_lone_surrogate_in_a_message_is_escaped(charge: Charge) -> None:
    with pytest.raises(BusinessError):
        charge.under(replace(RUN_AGAIN, final=(BusinessError,))).run(fails(BusinessError("a \ud800")))
    with pytest.raises(BusinessError, match=r"^a \\ud800$"):
        charge.under(replace(RUN_AGAIN, final=(BusinessError,))).run(must_not_run)


def test_error_that_cannot_be_recreated_is_a_stored_failure(charge: Charge) -> None:
    error = Sealed()
    work = replace(RUN_AGAIN, final=(Sealed,))
    with pytest.raises(Sealed):
        charge.under(work).run(fails(error))
    with pytest.raises(StoredFailure, match=r"^Sealed: Sealed has no message$"):
        charge.under(work).run(must_not_run)


def test_key_with_a_lone_surrogate_is_rejected(charge: Charge) -> None:
    with pytest.raises(InvalidKey):
        replace(charge, id="o-\ud800").run(must_not_run)


def fails(error: Exception) -> Callable[..., Any]:
    def fail(_: Any) -> Any:
        raise error

    return fail
