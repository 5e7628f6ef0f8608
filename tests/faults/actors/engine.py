"""A state machine and its functions inside this process, each execution an actor of the current run.

MiniStack's Step Functions, DynamoDB and S3 answer real botocore clients, through the same seams as for orders. Here
executions overlap, so blocking parts are replaced: callbacks, waits and the branches of a Map.
"""

import gc
import json
import logging
import os
import types
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any, ClassVar

from ministack.services import dynamodb, eventbridge, lambda_svc, s3, stepfunctions

import idempotency.steps
import runtime.backoff
import runtime.handler
import runtime.sweep
from runtime import clients, tracing
from tests.faults.actors.database import Database, database, row_by_row
from tests.faults.actors.trusting import trust_requests
from tests.faults.actors.wire import Session
from tests.faults.seams import Document, Send, forget, take_hold
from tests.kit.deployed_stack import ACCOUNT, REGION, Handler, Rule, Stack
from tests.kit.engines.in_process import Answer, replace
from tests.kit.template import FUNCTIONS

START = datetime(2026, 11, 22, 9, tzinfo=UTC)
_ENVIRONMENT = {
    "AWS_ACCESS_KEY_ID": "test",
    "AWS_SECRET_ACCESS_KEY": "test",
    "AWS_DEFAULT_REGION": REGION,
    # Bodies are sent unchanged.
    "AWS_REQUEST_CHECKSUM_CALCULATION": "when_required",
    "AWS_RESPONSE_CHECKSUM_VALIDATION": "when_required",
}

STEADY = types.SimpleNamespace(uniform=lambda _, most: most / 2, shuffle=lambda _: None)
"""Replaces `random`."""


@dataclass(frozen=True, slots=True)
class Mapping:
    """An event source mapping. tries: per record."""

    function: str
    criteria: Document
    tries: int

    def takes(self, record: Document) -> bool:
        return bool(lambda_svc._apply_filter_criteria([record], {"FilterCriteria": self.criteria}))


@dataclass
class Engine:
    """Implements tests.faults.seams.Seam. run: called while one is active.

    MACHINE: logical id. TABLES, BUCKET: of a run. VERSIONED: of the bucket. FUNCTIONS: logical ids.
    """

    MACHINE: ClassVar[str]
    TABLES: ClassVar[Sequence[str]]
    BUCKET: ClassVar[str]
    VERSIONED: ClassVar = False
    FUNCTIONS: ClassVar[Sequence[str]]

    stack: Stack = field(default_factory=Stack)
    run: Any = None
    handlers: dict[str, Handler] = field(default_factory=dict)
    mappings: dict[str, list[Mapping]] = field(default_factory=dict)
    rules: list[Rule] = field(default_factory=list)
    database: Database = field(default_factory=database)

    def start(self) -> "Engine":
        """Deploy the stack into this process."""
        logging.disable(logging.CRITICAL)
        os.environ.update({**self.stack.environment(self.FUNCTIONS), **_ENVIRONMENT})
        take_hold(self)
        self.hold()
        for table in self.stack.tables():
            if table["TableName"] in map(self.stack.name, self.TABLES):
                self.database.create(table)
        self.make_bucket()
        names = self.FUNCTIONS
        self.handlers = self.stack.handlers(names)
        for name in names:
            config = {"FunctionName": name, "FunctionArn": self.stack.arn(name), "Version": "$LATEST"}
            lambda_svc._functions[name] = {"config": config, "versions": {}, "aliases": {}}
            self._map(name)
        self.rules = [rule for rule in self.stack.rules() if rule.function in names]
        self.create_machine(self.MACHINE)
        self.database.start()
        trust_requests()
        gc.freeze()
        gc.set_threshold(50_000, 20, 100)
        return self

    def create_machine(self, name: str) -> None:
        definition, role = json.dumps(self.stack.definition(name)), f"arn:aws:iam::{ACCOUNT}:role/{name}Role"
        status, _, body = stepfunctions._create_state_machine({"name": name, "definition": definition, "roleArn": role})
        if status != 200:
            raise RuntimeError(body)

    def begin(self, run: Any) -> None:
        """Direct all calls to this run from here on."""
        self.run = run

    def clear(self) -> None:
        """Forget everything about a run."""
        self.run = None
        self.database.clear([*map(self.stack.name, self.TABLES)])
        self.make_bucket()
        stepfunctions._executions.clear()
        stepfunctions._task_tokens.clear()
        forget()

    def executions(self) -> list[Document]:
        return list(stepfunctions._executions.values())

    def execution(self, name: str, machine: str = "") -> Document | None:
        arn = self.stack.arn(machine or self.MACHINE).replace(":stateMachine:", ":execution:")
        found: Document | None = stepfunctions._executions.get(f"{arn}:{name}")
        return found

    def stop(self, execution: Document, status: str) -> None:
        """End an execution from outside, as StopExecution (ABORTED) or its own timeout would."""
        if execution["status"] == "RUNNING":
            execution.update(status=status, stopDate=stepfunctions.now_iso())
            for token in execution.get("tokens", ()):
                stepfunctions._task_tokens.pop(token, None)
            stepfunctions._emit_execution_status_event(execution)

    def matches(self, rule: Rule, event: Document) -> bool:
        return bool(eventbridge._matches_pattern(rule.pattern, event))

    def make_bucket(self) -> None:
        s3._buckets.pop(self.bucket, None)
        s3._create_bucket(self.bucket, b"", {})
        if self.VERSIONED:
            s3._object_versions.clear()
            s3._bucket_versioning[self.bucket] = "Enabled"

    def versions(self, key: str) -> list[Document]:
        """Return all versions of an object, oldest first."""
        found: list[Document] = s3._object_versions.get((self.bucket, key), [])
        return found

    @property
    def bucket(self) -> str:
        return self.stack.name(self.BUCKET)

    def _map(self, function: str) -> None:
        for event in FUNCTIONS[function].properties.get("Events", {}).values():
            if event["Type"] == "DynamoDB":
                properties = event["Properties"]
                table = self.stack.name(properties["Stream"]["Fn::GetAtt"][0])
                tries = 1 + properties["MaximumRetryAttempts"]
                self.mappings.setdefault(table, []).append(Mapping(function, properties["FilterCriteria"], tries))

    # Parts that block, or depend on real time.

    @property
    def waits(self) -> types.SimpleNamespace:
        return types.SimpleNamespace(sleep=lambda seconds: self.on.simulation.sleep(seconds))

    @property
    def long_waits(self) -> types.SimpleNamespace:
        """Like `waits`, but the invocation's earlier knowledge may be outdated afterwards."""
        return types.SimpleNamespace(sleep=lambda seconds: self.on.wait(seconds))

    def hold(self) -> None:
        moment = present(lambda: self.on.simulation.now if self.run else 0)
        for module in (runtime.handler, idempotency.steps):
            if hasattr(module, "datetime"):
                replace(module, "datetime", moment)
        replace(clients, "session", lambda: Session(self))
        replace(tracing, "trace_aws_calls", lambda: None)
        replace(runtime.backoff, "time", self.waits)
        replace(runtime.backoff, "random", STEADY)
        replace(runtime.sweep, "random", STEADY)
        replace(stepfunctions, "_scaled_sleep", lambda seconds: self.on.back_off(seconds))
        replace(stepfunctions, "_invoke_with_callback", lambda *given: self.on.callback(*given))
        replace(stepfunctions, "_run_map_items", lambda *given: self.on.items(*given))
        replace(stepfunctions, "new_uuid", lambda: self.run.new_token() if self.run else "none")
        replace(stepfunctions, "_add_event", _entered)
        replace(stepfunctions, "now_iso", lambda: START.isoformat())
        wrote = dynamodb._emit_stream_event

        def emitted(table: str, event: str, old: Document | None, new: Document | None, *more: Any) -> None:
            wrote(table, event, old, new, *more)
            if self.run:
                self.run.wrote(table, old, new)

        replace(dynamodb, "_emit_stream_event", emitted)

    # Seam.

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any:
        return self.on.task(execution, context, run)

    def invoke(self, function: str, event: Any) -> Document:
        return self.on.invoke_in_machine(function, event)

    def publish(self, _topic: str, message: Any) -> bool:
        return self.on.publish(message)

    def status_changed(self, event: Document) -> None:
        self.on.status_changed({**event, "Account": ACCOUNT, "Region": REGION})

    def started(self, run: Callable[[], None]) -> None:
        self.on.started(run)

    def call(self, operation: str) -> None:
        self.on.call(operation)

    def execute(self, operation: str, parameters: Document) -> Answer:
        if operation == "BatchGetItem" and self.run and self.run.torn():
            later = self.run.later

            def pause() -> None:
                # A row that was left unprocessed is read later.
                self.run.simulation.sleep(later.uniform(0, later.choice((0.05, 2))))

            return row_by_row(self.database, parameters, pause, later.shuffle)
        return self.database.execute(operation, parameters)

    def sent(self, service: str, send: Send, body: bytes) -> Any:
        return self.on.request(service, send, body)

    def pause(self, seconds: float) -> None:
        self.on.simulation.sleep(seconds)

    def published(self, topic: str, message: str) -> None:
        self.on.published(topic, message)

    def new_token(self) -> str:
        return self.on.new_token()

    def request(self, service: str, send: Send, body: bytes) -> Any:
        raise NotImplementedError

    def branches(self) -> str:
        raise NotImplementedError

    def charge_card(self, request: Any) -> Any:
        raise NotImplementedError

    @property
    def on(self) -> Any:
        if self.run is None:
            raise RuntimeError("no run is on")
        return self.run


def functions_of(context: str) -> list[str]:
    """Return the logical ids of a context's functions, without those that announce ends: nothing here listens."""
    return [
        name
        for name, function in FUNCTIONS.items()
        if function.module.startswith(f"{context}.") and "NOTIFICATION_TOPIC_ARN" not in function.variables
    ]


def _entered(execution: Document, _: str, details: Document | None = None) -> Document:
    """Record an entered state: a redrive needs them, and nothing reads the rest of a history."""
    if details and "stateEnteredEventDetails" in details:
        execution["events"].append(details)
    return {"id": 0}


def present(now: Callable[[], float]) -> type[datetime]:
    """Return a replacement for `datetime`."""

    class Present(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return (START + timedelta(seconds=now())).astimezone(tz)

    return Present
