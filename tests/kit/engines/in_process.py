"""Engines in the test's process: the local stack's DynamoDB, and moto's."""

import marshal
import threading
from collections.abc import Callable, Coroutine
from functools import cache
from types import SimpleNamespace
from typing import Any

from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from tests.kit.engines.engine import Engine, response

type Answer = tuple[int, dict[str, Any], bytes]
type Handler = Callable[..., Any]

_one_at_a_time = threading.Lock()


@cache
def ministack() -> Engine:
    """The local stack's DynamoDB without its server. It executes requests one after the other, as there."""
    from ministack.services import dynamodb

    repeat_cheaply()

    def answer(request: AWSPreparedRequest) -> AWSResponse:
        with _one_at_a_time:
            return answered(dynamodb.handle_request, request)

    return Engine("ministack", "http://in-process", answer)


@cache
def repeat_cheaply() -> None:
    """Let MiniStack's DynamoDB parse an expression once, and copy fast: the same few requests are repeated often."""
    from ministack.services import dynamodb

    tokens = cache(dynamodb._tokenize)
    replace(dynamodb, "_tokenize", lambda expression: [*tokens(expression)])
    replace(dynamodb, "_condition_syntax_error", cache(dynamodb._condition_syntax_error))
    replace(dynamodb, "copy", SimpleNamespace(deepcopy=copied))


def copied(value: Any) -> Any:
    """A fast `copy.deepcopy` for JSON values."""
    return marshal.loads(marshal.dumps(value))  # noqa: S302


def replace(owner: Any, name: str, value: Any) -> None:
    """Change a loaded module or class. Raises AttributeError if it lacks the name, for example after an upgrade."""
    getattr(owner, name)
    setattr(owner, name, value)


def answered(handler: Handler, request: AWSPreparedRequest) -> AWSResponse:
    """The response of a MiniStack service to a client's request, without a server."""
    target: Any = request.headers["X-Amz-Target"]
    return response(*at_once(handler, target.decode() if isinstance(target, bytes) else target, request.body))


def at_once(handler: Handler, target: str, body: Any) -> Answer:
    """The response of a MiniStack service that never waits."""
    return finished(handler("POST", "/", {"x-amz-target": target}, body, {}), target)


def finished(handling: Coroutine[Any, Any, Answer], what: str) -> Answer:
    """The response of a coroutine that never waits."""
    try:
        handling.send(None)
    except StopIteration as end:
        answer: Answer = end.value
        return answer
    raise RuntimeError(f"{what} did not end at once")


@cache
def moto() -> Engine:
    """moto's DynamoDB, called directly, so that botocore is not patched for other tests."""
    from moto.core.models import botocore_stubber

    def answer(request: AWSPreparedRequest) -> AWSResponse:
        answered = botocore_stubber.process_request(request)
        if answered is None:
            raise RuntimeError("moto does not know this request")
        return response(*answered)

    return Engine("moto", "https://dynamodb.us-east-1.amazonaws.com", answer)
