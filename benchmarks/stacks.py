"""The local stacks that benchmarks run on: a plain one, and one whose calls to DynamoDB and S3 are counted."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import dataclass
from functools import wraps
from typing import Any

from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.operations.stack import Stack

from .metering import Proxy, proxy
from .s3_traffic import S3Proxy, s3_proxy


@dataclass(frozen=True, slots=True)
class Plain:
    """A stack, and the emulator it is deployed to."""

    stack: Stack
    running: emulator.Emulator


@dataclass(frozen=True, slots=True)
class Metered(Plain):
    """A stack behind proxies."""

    dynamodb: Proxy
    s3: S3Proxy


# Stacks kept for the next benchmark, and the exit of the block that shares them.
_kept: dict[Callable[..., Any], Any] = {}
_until: list[ExitStack] = []


@contextmanager
def shared() -> Iterator[None]:
    """Run all benchmarks of this process on one metered stack, within the block."""
    with ExitStack() as until:
        _until.append(until)
        try:
            yield
        finally:
            _until.clear()
            _kept.clear()


def _shareable[T](start: Callable[[], AbstractContextManager[T]]) -> Callable[[], AbstractContextManager[T]]:
    @wraps(start)
    @contextmanager
    def using() -> Iterator[T]:
        if not _until:
            with start() as started:
                yield started
            return
        if start not in _kept:
            _kept[start] = _until[0].enter_context(start())
        yield _kept[start]

    return using


@contextmanager
def plain() -> Iterator[Plain]:
    if _until:
        with metered() as shared_stack:
            yield shared_stack
        return
    with emulator.attached() as running:
        deploy(running.endpoint, running.log)
        yield Plain(Stack.local(running.endpoint, services=running.simulators), running)


@_shareable
@contextmanager
def metered() -> Iterator[Metered]:
    # Unsigned, because a signature covers parts that the proxies change.
    with proxy() as dynamodb, s3_proxy() as s3:
        settings = {"AWS_ENDPOINT_URL_DYNAMODB": dynamodb.endpoint, "AWS_ENDPOINT_URL_S3": s3.endpoint, "AUTH": "false"}
        with emulator.attached(settings) as running:
            dynamodb.target = s3.target = running.endpoint
            deploy(running.endpoint, running.log)
            yield Metered(Stack.local(running.endpoint, services=running.simulators), running, dynamodb, s3)
