"""Calls of functions: a throttled call has not run, so it is retried."""

import io
from typing import Any

import pytest
from botocore.exceptions import ClientError

from stepwise.operations import functions
from tests.unit.pauses import replace_sleep


class Lambda:
    """A Lambda client that refuses the first calls."""

    def __init__(self, refused: int, code: str = "TooManyRequestsException") -> None:
        self.refused, self.code, self.calls = refused, code, 0

    def invoke(self, **_: Any) -> Any:
        self.calls += 1
        if self.calls <= self.refused:
            raise ClientError({"Error": {"Code": self.code, "Message": ""}}, "Invoke")
        return {"Payload": io.BytesIO(b'"done"')}


@pytest.fixture(autouse=True)
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    made: list[float] = []
    replace_sleep(monkeypatch, functions, by=made.append)
    return made


def test_throttled_call_is_retried_with_growing_pauses(pauses: list[float]) -> None:
    assert functions.invoke(Lambda(3), "f", {})["Payload"].read() == b'"done"'
    assert pauses == sorted(set(pauses))
    assert len(pauses) == 3


def test_persistently_throttled_call_finally_raises(pauses: list[float]) -> None:
    client = Lambda(100)
    with pytest.raises(ClientError, match="TooManyRequests"):
        functions.invoke(client, "f", {})
    assert client.calls == len(pauses) + 1


def test_other_errors_are_raised_at_once() -> None:
    client = Lambda(1, "ServiceException")
    with pytest.raises(ClientError, match="ServiceException"):
        functions.invoke(client, "f", {})
    assert client.calls == 1
