"""Lambda handler of the HTTP API."""

import logging
from collections.abc import Callable
from functools import cache, wraps
from importlib import import_module
from typing import Any

from idempotency import LeaseStore, TransientError
from runtime.context import LambdaContext
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler

from .answer import Answer, Problem, problem, unavailable
from .document import Document, Operation
from .once import LIFETIME, once
from .request import Environment, Received, Request, parse_event, read

_logger = logging.getLogger(__name__)

type Response = dict[str, Any]

environment = Environment()


@cache
def document() -> Document:
    return Document()


def _always_answering(
    handle: Callable[[Any, LambdaContext], Response],
) -> Callable[[Any, LambdaContext], Response]:
    """Return problem+json even if the function fails: API Gateway's own error is not.

    The handler has logged the failure.
    """

    @wraps(handle)
    def answer(event: Any, context: LambdaContext) -> Response:
        try:
            return handle(event, context)
        except Exception:
            return problem(500, "defect", "A defect. The same request may be repeated.").response

    return answer


@_always_answering
@handler(parse_event, ids=("route", "request_id"))
def handle_request(received: Received, call: Call) -> Response:
    """Validate a request against the document, and respond to it."""
    try:
        operation = document().operation(received.route)
        answer = _run(operation, received, call) if operation else _no_route(received)
    except Problem as refused:
        answer = refused.answer
    except TransientError as error:
        _logger.warning("unavailable", extra={"request_id": received.request_id, "error": type(error).__name__})
        answer = unavailable()
    _logger.info("answered", extra={"request_id": received.request_id, "status": answer.status})
    return answer.response


def _run(operation: Operation, received: Received, call: Call) -> Answer:
    request = read(operation, received)
    # One module per tag: a cold start imports only what its request needs.
    module = import_module(f".{operation.module}", __package__)
    function: Callable[[Request, Environment], Answer] = getattr(module, operation.name)
    if not request.key:
        answer = function(request, environment)
    else:
        store = LeaseStore(dynamodb(), environment.idempotency_table, lifetime=LIFETIME)
        answer = once(store, request, call.deadline, lambda: function(request, environment))
    # Parts that must not be stored are added to each response.
    finish = getattr(module, f"finish_{operation.name}", None)
    return finish(request, environment, answer) if finish and answer.status < 300 else answer


def _no_route(received: Received) -> Answer:
    methods = document().methods(received.path)
    if not methods:
        return problem(404, "no-route", "There is no such route; docs/http-api.md lists them.")
    return problem(405, "no-method", f"This route takes {', '.join(methods)}.", headers={"allow": ", ".join(methods)})
