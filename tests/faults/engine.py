"""MiniStack's Step Functions engine in this process: deployed definitions, real handlers, no waits, no sockets.

It uses the engine's own Retry, Catch, paths and history. A `Director` decides about everything around a state or a
function: let it happen, refuse it, or do something else before or after.

The handlers make real requests with real botocore clients. MiniStack answers those to DynamoDB (or the endpoint in
`AWS_ENDPOINT_URL_DYNAMODB`) and to Secrets Manager, the engine those to Step Functions, and the simulator those to the
payment gateway.

It changes loaded modules and `os.environ`, so tests start each engine in a separate process.
"""

import gc
import json
import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

import boto3
from botocore import xform_name
from ministack.services import eventbridge, lambda_svc, secretsmanager, stepfunctions

from runtime.exchange import Request, Response
from tests.faults.clock import Clock
from tests.faults.gateway import ADDRESS, SECRET, Gateway, understood
from tests.faults.operators import Operators
from tests.faults.seams import DYNAMODB_ENDPOINT, Document, Send, forget, in_process, take_hold
from tests.faults.subject import SUBJECT
from tests.kit.deployed_stack import ACCOUNT, REGION, Handler, Rule, Stack
from tests.kit.machine import MACHINES
from tests.kit.template import FUNCTIONS, arn_of

SAGA = SUBJECT.saga.machine
RECOVERY = SUBJECT.saga.recovery
# Contexts with the functions of the two machines, and of finalization.
_FUNCTIONS = (
    *sorted(
        {str(arn_of(value)) for name in (SAGA, RECOVERY) for value in MACHINES[name].substitutions.values()}
        & set(FUNCTIONS)
    ),
    SUBJECT.finalizer,
    SUBJECT.sweeper,
)
# Records may expire long before Step Functions deletes an execution.
_PARAMETERS = {"RecordLifetimeDays": "30"}
_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": REGION,
    # The sweep's clock: every order is older than a saga can live.
    "FINALIZE_AFTER_SECONDS": "0",
}


@dataclass(frozen=True, slots=True)
class Visit:
    """One stay in a Task state of an execution. machine: its logical id."""

    machine: str
    state: str
    execution: Document


class Director(Protocol):
    """Decides what happens around each action of the engine."""

    def task(self, visit: Visit, run: Callable[[], Any]) -> Any: ...

    def invoke(self, function: str, event: Any) -> Document: ...

    def publish(self, topic: str, message: Any) -> bool: ...

    def status_changed(self, event: Document) -> None: ...

    def call(self, operation: str) -> None: ...

    def request(self, service: str, send: Send, body: bytes) -> Any: ...

    def branches(self) -> str: ...


def execution_error(error: str, cause: str) -> Exception:
    """Create an error that ends an execution without Retry and Catch."""
    raised: Exception = stepfunctions._ExecutionError(error, cause)
    return raised


@dataclass
class Engine:
    """The engine. stack: the deployed one. director: the current run's. handlers: by the function's logical id."""

    stack: Stack
    director: Director | None = None
    handlers: dict[str, Handler] = field(default_factory=dict)
    machines: dict[str, Document] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    gateway: Gateway = field(default_factory=Gateway)
    clock: Clock = field(default_factory=Clock)
    _pending: list[Callable[[], None]] = field(default_factory=list)

    def start(self) -> "Engine":
        """Deploy the stack into this process."""
        logging.disable(logging.CRITICAL)
        os.environ.update({**self.stack.environment(_FUNCTIONS), **_ENVIRONMENT})
        take_hold(_Seam(self))
        self.clock.take_hold()
        self._client = boto3.client("dynamodb")
        for table in self.stack.tables():
            self._client.create_table(**table)
        self.handlers = self.stack.handlers(_FUNCTIONS)
        for name in self.handlers:
            config = {"FunctionName": name, "FunctionArn": self.stack.arn(name), "Version": "$LATEST"}
            lambda_svc._functions[name] = {"config": config, "versions": {}, "aliases": {}}
        self._secret = secretsmanager.create_secret_in_process("PaymentGateway", SECRET)
        secretsmanager.create_secret_in_process("PaymentKey", "key-of-the-stack")
        for machine in (SAGA, RECOVERY):
            self._deploy(machine, self.stack.definition(machine))
        self.rules = [rule for rule in self.stack.rules() if rule.function in self.handlers]
        self.operators = Operators(self.stack)
        # Loaded objects stay; repeated garbage collection of them takes much of a run's time.
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        return self

    def use_gateway(self, wanted: bool) -> None:
        """Deploy the functions with or without the payment gateway's address. They are warm: secrets are read."""
        options = {"PaymentGatewayUrl": ADDRESS, "PaymentGatewaySecretArn": self._secret}
        options = options if wanted else dict.fromkeys(options, "")
        stack = replace(self.stack, parameters={**_PARAMETERS, **options})
        if stack != self.stack:
            for name in self.stack.environment(_FUNCTIONS).keys() - stack.environment(_FUNCTIONS):
                del os.environ[name]
            os.environ.update({**stack.environment(_FUNCTIONS), **_ENVIRONMENT})
            for made in SUBJECT.caches:
                made.cache_clear()
            self.stack = stack
        if gateway := SUBJECT.gateway():
            gateway.http.secret.read()
            gateway.stack_key.read()

    def plain(self, operation: str, parameters: Document) -> Document:
        """Send the explorer's own request to DynamoDB, bypassing the director."""
        if DYNAMODB_ENDPOINT in os.environ:
            return dict(getattr(self._client, xform_name(operation))(**parameters))
        return in_process(operation, parameters)

    @contextmanager
    def redefined(self, machine: str, definition: Document) -> Iterator[None]:
        """Run another definition of a machine for a while."""
        before = self.machines[machine]
        self._deploy(machine, definition)
        try:
            yield
        finally:
            self._deploy(machine, before)

    def start_execution(self, machine: str, name: str, document: Any) -> None:
        """Start an execution; it runs at the next `drain`."""
        request = {"stateMachineArn": self.stack.arn(machine), "name": name, "input": json.dumps(document)}
        _require_success(stepfunctions._start_execution(request))

    def drain(self) -> None:
        """Run every execution that was started."""
        while self._pending:
            self._pending.pop(0)()

    def executions(self) -> list[Document]:
        """Return all executions of the current run, in the order of their start."""
        return list(stepfunctions._executions.values())

    def execution(self, machine: str, name: str) -> Document:
        """Return an execution. Raises KeyError."""
        arn = self.stack.arn(machine).replace(":stateMachine:", ":execution:")
        found: Document = stepfunctions._executions[f"{arn}:{name}"]
        return found

    def forget(self) -> None:
        """Forget all executions and requests."""
        stepfunctions._executions.clear()
        self._pending.clear()
        forget()

    def stop(self, execution: Document, status: str) -> None:
        """End an execution from outside, as StopExecution (ABORTED) or its own timeout (TIMED_OUT) would."""
        if status == "ABORTED":
            stepfunctions._stop_execution({"executionArn": execution["executionArn"]})
            return
        execution["status"] = status
        execution["stopDate"] = stepfunctions.now_iso()
        stepfunctions._add_event(execution, "ExecutionTimedOut")
        stepfunctions._emit_execution_status_event(execution)

    def matches(self, pattern: str, event: Document) -> bool:
        """True if an EventBridge rule with this pattern matches the event."""
        return bool(eventbridge._matches_pattern(pattern, event))

    def _deploy(self, machine: str, definition: Document) -> None:
        self.machines[machine] = definition
        stepfunctions._state_machines.pop(self.stack.arn(machine), None)
        role = f"arn:aws:iam::{ACCOUNT}:role/{machine}Role"
        request = {"name": machine, "definition": json.dumps(definition), "roleArn": role}
        _require_success(stepfunctions._create_state_machine(request))


@dataclass
class _Seam:
    """Asks the director during a run; otherwise just sends requests."""

    engine: Engine

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any:
        return self._director.task(Visit(context["StateMachine"]["Name"], context["State"]["Name"], execution), run)

    def invoke(self, function: str, event: Any) -> Document:
        return self._director.invoke(function, event)

    def publish(self, topic: str, message: Any) -> bool:
        return self._director.publish(topic, message)

    def status_changed(self, event: Document) -> None:
        self._director.status_changed({**event, "Account": ACCOUNT, "Region": REGION})

    def branches(self) -> str:
        return self._director.branches()

    def started(self, run: Callable[[], None]) -> None:
        self.engine._pending.append(run)

    def call(self, operation: str) -> None:
        if self.engine.director:
            self.engine.director.call(operation)

    def request(self, service: str, send: Send, body: bytes) -> Any:
        return self.engine.director.request(service, send, body) if self.engine.director else send()

    def charge_card(self, request: Request) -> Response:
        sent = understood(request)
        self.call(f"gateway.{sent.kind}")
        self.engine.gateway.sent = sent
        answer: Response = self.request("gateway", lambda: self.engine.gateway.answer(sent), b"")
        return answer

    @property
    def _director(self) -> Director:
        if self.engine.director is None:
            raise RuntimeError("nobody directs the engine")
        return self.engine.director


def _require_success(answer: tuple[int, Document, bytes]) -> None:
    status, _, body = answer
    if status != 200:
        raise RuntimeError(body)
