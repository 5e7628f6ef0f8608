"""Runs handlers without a network: records each request to AWS and gives every possible answer in turn.

The handlers, the layers and the SDK's clients are the real ones; nothing is serialized or leaves the process.
"""

import importlib
import json
import os
import re
import socket
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from functools import cache
from itertools import islice
from pathlib import Path
from types import CodeType, FrameType, ModuleType, SimpleNamespace, TracebackType
from typing import Any, Self

import pytest
from aws_xray_sdk import global_sdk_config
from botocore.client import BaseClient
from botocore.signers import RequestSigner

from runtime import clients
from runtime import environment as variables
from runtime.exchange import Request, Response
from runtime.tracing import trace_aws_calls
from tests.kit.answer import Answer, Refusal
from tests.kit.answers import answering
from tests.kit.project import FUNCTIONS, IDEMPOTENCY
from tests.kit.template import Function

# The maximum number of requests per invocation, because a loop over rows would never end.
_MAX_REQUESTS = 18
_MONITORING, _TOOL = sys.monitoring, sys.monitoring.PROFILER_ID

type Script = tuple[int, ...]
type Choice = tuple[tuple[str, int] | None, str, int]
"""A pair of answers: to a request from one place, after one from another."""

# For each request seen, by its text: the factory of its answers, and their number.
_answering: dict[tuple[str, str], tuple[Callable[[Mapping[str, Any]], Iterable[Answer]], int]] = {}

_SDK = {"AWS_DEFAULT_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}


@dataclass(frozen=True, slots=True)
class Call:
    """A request to AWS. operation: such as "dynamodb:PutItem". sites: our functions on the stack.

    text: the same for the same parameters.
    """

    operation: str
    parameters: Mapping[str, Any]
    sites: frozenset[str]
    text: str


class _Enough(BaseException):
    """Raised when an invocation exceeds the maximum number of requests."""


@dataclass
class Run:
    """One invocation. script: the answer for each request, by its number; later requests get the first answer.

    requests: for each, its place in our code and its number of possible answers.
    variables: names of the environment variables that were read. result: of the handler, if it returned.
    error: class name and message of the exception.
    """

    script: Script
    calls: list[Call] = field(default_factory=list)
    requests: list[tuple[str, int]] = field(default_factory=list)
    variables: set[str] = field(default_factory=set)
    result: Any = None
    error: tuple[str, str] | None = None

    @property
    def ended_well(self) -> bool:
        """True if the handler returned."""
        return self.error is None

    def answer(self, operation: str, parameters: Mapping[str, Any], text: str, place: str) -> Answer:
        """Choose the answer to the next request. text: the same for the same parameters."""
        number, asked = len(self.requests), (operation, text)
        if number == _MAX_REQUESTS:
            raise _Enough
        # Most requests are repeated, and most get the first of many answers.
        if asked in _answering:
            answers, width = _answering[asked]
            made = answers(parameters)
        else:
            answers = answering(operation, parameters, text)
            made = list(answers(parameters))
            width = len(made)
            _answering[asked] = answers, width
        self.requests.append((place, width))
        chosen = self.script[number] if number < len(self.script) else 0
        return next(islice(made, chosen, None))

    def others(self) -> Iterator[tuple[Script, Choice]]:
        """The scripts that differ from this run in one answer after its script, and the new pairs of each."""
        for number in range(len(self.script), len(self.requests)):
            same = (*self.script, *(0 for _ in range(number - len(self.script))))
            before = (self.requests[number - 1][0], same[-1]) if number else None
            place, width = self.requests[number]
            yield from (((*same, other), (before, place, other)) for other in range(1, width))


class Wire:
    """Replaces everything that a handler could reach over the network, for the length of a block.

    entered: our functions that have run.
    """

    def __init__(self) -> None:
        self.entered: set[str] = set()
        self._patch = pytest.MonkeyPatch()
        self._run = Run(())

    def __enter__(self) -> Self:
        for name, value in _SDK.items():
            self._patch.setenv(name, value)
        self._patch.setattr(time, "sleep", lambda _: None)
        self._patch.setattr(variables, "read_variable", self._read)
        self._patch.setattr(Request, "send", lambda request, *_: self._answer_http(request))
        # A public address.
        self._patch.setattr(socket, "getaddrinfo", lambda _, port, **__: [(None, None, None, "", ("1.1.1.1", port))])
        # Clients trace the calls that they find here, once.
        trace_aws_calls()
        self._patch.setattr(BaseClient, "_make_api_call", lambda *call: self._answer_call(*call))
        # For links, which are created without a call.
        self._patch.setattr(BaseClient, "_convert_to_request_dict", lambda _, **asked: {"asked": asked["api_params"]})
        self._patch.setattr(
            RequestSigner, "generate_presigned_url", lambda _, *link, **named: self._presign(*link, **named)
        )
        global_sdk_config.set_sdk_enabled(False)
        _forget(clients)
        _MONITORING.use_tool_id(_TOOL, "wire")
        _MONITORING.register_callback(_TOOL, _MONITORING.events.PY_START, self._enter)
        _MONITORING.restart_events()
        _MONITORING.set_events(_TOOL, _MONITORING.events.PY_START)
        return self

    def __exit__(self, *_: type[BaseException] | BaseException | TracebackType | None) -> None:
        # Freeing the tool alone would leave events and callback as they are.
        _MONITORING.set_events(_TOOL, _MONITORING.events.NO_EVENTS)
        _MONITORING.register_callback(_TOOL, _MONITORING.events.PY_START, None)
        _MONITORING.free_tool_id(_TOOL)
        _forget(clients)
        global_sdk_config.set_sdk_enabled(True)
        self._patch.undo()

    def runs(
        self, function: Function, event: Any, environment: Mapping[str, str], *, pairs: bool = True
    ) -> Iterator[Run]:
        """Invoke a function until each request has had each answer.

        pairs: after each answer of the request before it; otherwise one answer of each run is not the first.
        """
        self._set(environment)
        todo: list[Script] = [()]
        tried: set[Choice] = set()
        while todo:
            run = self._invoked(function, event, todo.pop())
            yield run
            if run.script and not pairs:
                continue
            new = {choice: script for script, choice in run.others() if choice not in tried}
            tried.update(new)
            todo.extend(new.values())

    def singles(
        self, function: Function, event: Any, environment: Mapping[str, str], *, before: Callable[[], object]
    ) -> Iterator[Run]:
        """Invoke a function with the first answers, then for each request with each other answer to it.

        Unlike `runs`, it does not depend on where the code makes a request. before: called before each invocation.
        """
        self._set(environment)
        before()
        first = self._invoked(function, event, ())
        yield first
        for number, (_, width) in enumerate(first.requests):
            for other in range(1, width):
                before()
                yield self._invoked(function, event, (*[0] * number, other))

    def _set(self, environment: Mapping[str, str]) -> None:
        for name, value in environment.items():
            self._patch.setenv(name, value)

    def _invoked(self, function: Function, event: Any, script: Script) -> Run:
        self._run = run = Run(script)
        importlib.import_module(function.module)
        # Handlers of other modules, too, as long as a context has several.
        context = function.module.partition(".")[0]
        handlers = {name for name in sys.modules if name.startswith(f"{context}.") and name.endswith("handlers")}
        for name in handlers | {function.module}:
            _forget(sys.modules[name])
        _invoke(function, event, run)
        return run

    def _read(self, name: str) -> str:
        self._run.variables.add(name)
        return os.environ.get(name, "")

    def _enter(self, code: CodeType, _: int) -> object:
        if site := _site(code):
            self.entered.add(site)
        # Once is enough.
        return _MONITORING.DISABLE

    def _answer_call(self, client: BaseClient, name: str, parameters: Mapping[str, Any]) -> Any:
        model = client.meta.service_model
        operation = f"{model.service_id.hyphenize()}:{name}"
        places = list(_places(sys._getframe()))
        text = str(parameters)
        self._run.calls.append(Call(operation, dict(parameters), frozenset(site for site, _ in places), text))
        status, parsed = _parsed(self._run.answer(operation, parameters, text, str(places)))
        after = {"http_response": SimpleNamespace(status_code=status), "parsed": parsed, "context": {}}
        client.meta.events.emit(f"after-call.{operation.replace(':', '.')}", model=model.operation_model(name), **after)
        if status >= 300:
            raise client.exceptions.from_code(parsed["Error"]["Code"])(parsed, name)
        return parsed

    def _presign(self, request_dict: Mapping[str, Any], operation_name: str, **_: Any) -> str:
        """Record a presigned request: its permissions are needed once the holder of the link sends it."""
        sites = frozenset(site for site, _ in _places(sys._getframe()))
        asked = request_dict["asked"]
        self._run.calls.append(Call(f"s3:{operation_name}", asked, sites, str(asked)))
        return "https://nowhere"

    def _answer_http(self, request: Request) -> Response:
        path = re.sub(r"(/charges/|/cards/)[^/]+", r"\1KEY", request.target)
        named = re.search(r"/(?:charges|cards)/([^/]+)", request.target)
        key = named[1] if named else request.headers.get("Idempotency-Key", "")
        asked = {"key": key, "body": request.body.decode()}
        answer: Any = self._run.answer(f"gateway:{request.method} {path}", asked, str(asked), path)
        return Response(answer["status"], {}, json.dumps({"key": key, **answer["body"]}).encode())


def _invoke(function: Function, event: Any, run: Run) -> None:
    handler = getattr(importlib.import_module(function.module), function.handler)
    context = SimpleNamespace(aws_request_id="r-1", get_remaining_time_in_millis=lambda: 1000 * function.timeout)
    try:
        run.result = handler(json.loads(json.dumps(event)), context)
    except (Exception, _Enough) as error:
        # No handler ends like this on purpose: an answer in answers.py lacks a field that AWS returns.
        if str(error) in {"AttributeError", "IndexError", "KeyError", "TypeError"}:
            raise
        run.error = type(error).__name__, str(error)


_INVOKE = _invoke.__code__


def _parsed(answer: Answer) -> tuple[int, dict[str, Any]]:
    """The status and the response, as botocore parses it."""
    status = 400 if isinstance(answer, Refusal) else 200
    error = {"Error": {"Code": answer.code, "Message": "-"}, **answer.more} if isinstance(answer, Refusal) else answer
    return status, {**error, "ResponseMetadata": {"HTTPStatusCode": status}}


def _places(frame: FrameType | None) -> Iterator[tuple[str, int]]:
    """Our functions on the stack, each with its current line."""
    # Every access to a code object raises an audit event.
    while frame and (code := frame.f_code) is not _INVOKE:
        if site := _site(code):
            yield site, frame.f_lineno
        frame = frame.f_back


def _site(code: CodeType) -> str | None:
    """The function that the code belongs to, as "file:Class.method"."""
    # Not keyed by the code object, whose hash reads each instruction.
    return _named(code.co_filename, code.co_qualname)


@cache
def _named(file: str, function: str) -> str | None:
    path = Path(file)
    home = next((home for home in (FUNCTIONS, IDEMPOTENCY) if path.is_relative_to(home)), None)
    return f"{path.relative_to(home)}:{function.partition('.<')[0]}" if home else None


def _forget(module: ModuleType) -> None:
    """Clear what a module caches for the next invocation.

    Imported caches stay, because creating the SDK's clients takes longer than a handler.
    """
    for made in vars(module).values():
        if hasattr(made, "cache_clear") and made.__module__ == module.__name__:
            made.cache_clear()
