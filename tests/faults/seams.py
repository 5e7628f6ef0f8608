"""The explorer's hooks into MiniStack, botocore and the HTTP client: every change to a loaded module.

One seam is in the engine, around a task, an invocation, a publish and a status event; the others are in botocore and
the HTTP client, before a request is sent.
"""

import json
import os
import socket
import time
import types
from collections.abc import Callable
from typing import Any, Protocol

import boto3
import botocore.endpoint
from botocore.awsrequest import AWSPreparedRequest, AWSResponse
from botocore.httpsession import URLLib3Session
from botocore.retries.quota import RetryQuota
from botocore.session import get_session
from botocore.signers import RequestSigner
from botocore.useragent import UserAgentString
from botocore.validate import ParamValidationDecorator
from ministack.services import dynamodb, eventbridge, lambda_svc, secretsmanager, sns, stepfunctions

from runtime import clients
from runtime.exchange import Request, Response
from stepwise.local.simulators.payment_gateway import charges
from tests.faults.subjects import REVERSED, STOPPED
from tests.kit.engines.in_process import Answer, answered, at_once, repeat_cheaply, replace

DYNAMODB_ENDPOINT = "AWS_ENDPOINT_URL_DYNAMODB"

type Document = dict[str, Any]
type Send = Callable[[], Any]


class Seam(Protocol):
    """Receiver of the calls at each seam."""

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any: ...

    def invoke(self, function: str, event: Any) -> Document: ...

    def publish(self, topic: str, message: Any) -> bool: ...

    def status_changed(self, event: Document) -> None: ...

    def started(self, run: Callable[[], None]) -> None: ...

    def call(self, operation: str) -> None: ...

    def branches(self) -> str: ...

    def request(self, service: str, send: Send, body: bytes) -> Any: ...

    def charge_card(self, request: Request) -> Response: ...


def take_hold(seam: Seam) -> None:
    """Patch the loaded modules, once per process: from now on everything goes through the seams, and nothing waits."""
    _skip_waits()
    _hold_engine(seam)
    _hold_clients(seam)
    replace(Request, "send", lambda request, *_: seam.charge_card(request))


def _skip_waits() -> None:
    sleepless = types.SimpleNamespace(**{**vars(time), "sleep": lambda _: None})
    replace(stepfunctions, "time", sleepless)
    replace(botocore.endpoint, "time", sleepless)
    replace(charges, "time", sleepless)
    repeat_cheaply()
    _skip_validation()
    # A thousand injected faults must not use up the SDK's retry quota.
    replace(RetryQuota, "acquire", lambda *_: True)
    # Nothing reads signatures or user agents in this process, and they take much of a request's time.
    if DYNAMODB_ENDPOINT not in os.environ:
        replace(RequestSigner, "sign", lambda *_, **__: None)
        replace(UserAgentString, "to_string", lambda _: "explorer")


def _skip_validation() -> None:
    def unchecked(self: Any, parameters: Any, operation: Any) -> Any:
        return self._serializer.serialize_to_request(parameters, operation)

    replace(ParamValidationDecorator, "serialize_to_request", unchecked)


def _hold_engine(seam: Seam) -> None:
    execute_task = stepfunctions._execute_task

    def directed_task(state: Document, document: Any, execution: Document, context: Document) -> Any:
        context["Execution"].setdefault("RedriveCount", 0)
        return seam.task(execution, context, lambda: execute_task(state, document, execution, context))

    def in_this_thread(resource: str, document: Any, _: float) -> Any:
        return stepfunctions._invoke_resource(resource, document)

    def invoke(function: Document, event: Any) -> Document:
        return seam.invoke(function["config"]["FunctionName"], event)

    def publish(parameters: Document) -> Answer:
        published = seam.publish(parameters["TopicArn"].rpartition(":")[2], parameters["Message"])
        return (200, {}, b"<MessageId>m-1</MessageId>") if published else (500, {}, b"InternalError")

    def put_events(request: Document, **_: Any) -> None:
        for entry in request["Entries"]:
            seam.status_changed({**entry, "EventBusName": "default", "Time": time.time()})

    def thread(*, target: Callable[..., None], args: tuple[Any, ...], **_: Any) -> Any:
        return types.SimpleNamespace(start=lambda: seam.started(lambda: target(*args)))

    def one_by_one(state: Document, document: Any, execution: Document, context: Document) -> Any:
        return _branches(state, document, execution, context, seam.branches())

    replace(stepfunctions, "_run_parallel_branches", one_by_one)
    replace(stepfunctions, "_execute_task", directed_task)
    replace(stepfunctions, "_invoke_resource_with_timeout", in_this_thread)
    replace(stepfunctions, "threading", types.SimpleNamespace(Thread=thread))
    replace(lambda_svc, "_execute_function", invoke)
    replace(sns, "_publish", publish)
    replace(eventbridge, "_put_events", put_events)


def _branches(state: Document, document: Any, execution: Document, context: Document, how: str) -> Any:
    """Run a Parallel state without threads: its branches one after the other, in the order `how`.

    AWS stops the other branches when one fails, but not a running function, which may still land.
    """
    results: dict[int, Any] = {}
    failures: list[Exception] = []
    given = stepfunctions._apply_parameters(state, stepfunctions._apply_input_path(state, document, context), context)
    branches = [*enumerate(state["Branches"])]
    for index, branch in reversed(branches) if how == REVERSED else branches:
        if execution["status"] != "RUNNING" or (failures and how == STOPPED):
            break
        try:
            results[index] = stepfunctions._run_sub_machine(
                branch["States"], branch["StartAt"], given, execution, context
            )
        except stepfunctions._ExecutionError as error:
            if error.error == "States.Runtime":
                # No Catch matches it; the engine has a different name for unknown errors.
                raise RuntimeError(error.cause) from None
            failures.append(error)
    if failures:
        raise failures[0]
    result = stepfunctions._apply_result_selector(state, [results.get(index) for index, _ in branches])
    return stepfunctions._apply_result_path(state, document, result), stepfunctions._next_or_end(state)


def _hold_clients(seam: Seam) -> None:
    """Patch the hooks that clients copy from their session. Call this before the first client is created."""
    # Like botocore's own clients; otherwise each response waits for a delayed acknowledgement.
    at_once: Any = [(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)]
    session = URLLib3Session(socket_options=at_once)

    def before_call(event_name: str, **_: Any) -> None:
        seam.call(event_name.partition(".")[2])

    def before_send(event_name: str, request: AWSPreparedRequest, **_: Any) -> AWSResponse:
        service = event_name.split(".")[1]
        return seam.request(service, lambda: _answer(session, service, request), request.body)

    # The explorer's client creates tables, which the functions' reduced clients cannot.
    whole = get_session()
    boto3.setup_default_session(botocore_session=whole)
    for emitter in (made.get_component("event_emitter") for made in (clients.session(), whole)):
        emitter.register("before-call", before_call)
        emitter.register("before-send", before_send)


def _answer(session: URLLib3Session, service: str, request: AWSPreparedRequest) -> AWSResponse:
    if service == "dynamodb" and DYNAMODB_ENDPOINT in os.environ:
        return session.send(request)
    services = {"dynamodb": dynamodb, "secrets-manager": secretsmanager, "sfn": stepfunctions}
    return answered(services[service].handle_request, request)


def in_process(operation: str, parameters: Document) -> Document:
    """Call MiniStack's DynamoDB without a client. Raises RuntimeError if it fails."""
    status, _, body = at_once(dynamodb.handle_request, f"DynamoDB_20120810.{operation}", json.dumps(parameters))
    if status != 200:
        raise RuntimeError(body)
    answer: Document = json.loads(body)
    return answer


def forget() -> None:
    """Drop MiniStack's records of requests, so that thousands of runs do not fill the memory."""
    dynamodb._stream_records.clear()
    dynamodb._txn_idempotency.clear()
