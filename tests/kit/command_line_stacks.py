"""Stacks on which every call of a command fails, each in one way."""

import json
import os
import signal
import time
from collections.abc import Callable
from typing import Any, NoReturn

from botocore.exceptions import ClientError, EndpointConnectionError, ReadTimeoutError

from ordering.definition import STEPS
from stepwise.operations.stack import Stack


def refused(code: str) -> Callable[[], NoReturn]:
    """Let AWS refuse every call with this error code."""

    def fail() -> NoReturn:
        metadata: Any = {"HTTPStatusCode": 400}
        raise ClientError({"Error": {"Code": code, "Message": "refused"}, "ResponseMetadata": metadata}, "Any")

    return fail


def signalled(number: int) -> Callable[[], NoReturn]:
    """Send the process a signal during the call."""

    def fail() -> NoReturn:
        os.kill(os.getpid(), number)
        time.sleep(5)
        raise AssertionError("the signal was ignored")

    return fail


def _raising(error: BaseException) -> Callable[[], NoReturn]:
    def fail() -> NoReturn:
        raise error

    return fail


FAILURES = {
    "no permission": refused("AccessDeniedException"),
    "expired credentials": refused("ExpiredTokenException"),
    "answer lost": _raising(ReadTimeoutError(endpoint_url="http://127.0.0.1")),
    "stack gone meanwhile": _raising(EndpointConnectionError(endpoint_url="http://127.0.0.1")),
    "Ctrl-C": _raising(KeyboardInterrupt()),
}
SIGNALS = {f"signal {number.name}": signalled(number) for number in (signal.SIGTERM, signal.SIGHUP)}


def failing(fail: Callable[[], NoReturn]) -> Stack:
    """A stack on which every call fails this way."""
    clients: Any = _Clients(fail)
    outputs = _Outputs(StepTables=json.dumps({step.table: step.table for step in STEPS}))
    stack = Stack(clients, None, outputs, _Outputs())
    stack.__dict__["_clients"] = clients
    return stack


class _Outputs(dict[str, str]):
    def __missing__(self, name: str) -> str:
        return f"arn:aws:states:us-east-1:000000000000:stateMachine:{name}"


class _Clients(dict[str, Any]):
    """Failing clients, and a session that creates more of them."""

    def __init__(self, fail: Callable[[], NoReturn]) -> None:
        super().__init__()
        self._fail = fail

    def __contains__(self, _: object) -> bool:
        return True

    def __getitem__(self, _: str) -> Any:
        return _Client(self._fail)

    def client(self, *_: Any, **__: Any) -> Any:
        return _Client(self._fail)


class _Client:
    def __init__(self, fail: Callable[[], NoReturn]) -> None:
        self._fail = fail

    def __getattr__(self, name: str) -> Any:
        return (
            _Exceptions() if name == "exceptions" else self if name == "meta" else lambda *_, **__: self._called(name)
        )

    def _called(self, name: str) -> Any:
        return self if name == "get_paginator" else self._fail()


class _Exceptions:
    def __getattr__(self, name: str) -> Any:
        return type(name, (Exception,), {})
