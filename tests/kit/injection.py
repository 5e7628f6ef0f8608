"""Faults that a test injects into a deployed stack from outside, and removes at its end."""

import http.client
import json
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import urlparse

import psutil

from stepwise import STACK_NAME
from stepwise.local.deployment import resources
from stepwise.local.simulators.simulators import SIMULATORS
from stepwise.operations.stack import Stack
from tests.kit import bounded

type Answer = tuple[int, dict[str, Any]]

CONFLICT: Answer = (
    400,
    {
        "__type": "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
        "Message": "Transaction cancelled, see the cancellation reasons [TransactionConflict, None]",
        "CancellationReasons": [{"Code": "TransactionConflict"}, {"Code": "None"}],
    },
)
THROTTLED: Answer = (400, {"__type": "com.amazonaws.dynamodb.v20120810#ThrottlingException", "message": "slow down"})
BROKEN: Answer = (500, {"__type": "com.amazonaws.dynamodb.v20120810#InternalServerError", "message": "broken"})


@dataclass
class DynamoDBProxy:
    """A proxy between a function and DynamoDB that records calls and answers some of them itself.

    calls: operation and status of each call, such as "TransactWriteItems 200".
    held: while it is clear, calls wait before execution.
    answers: returned instead of real ones, one per call, until used up.
    lose: number of calls to execute without answering.
    done: called after a call was executed, before its answer.
    """

    upstream: str
    answers: list[Answer] = field(default_factory=list)
    lose: int = 0
    calls: list[str] = field(default_factory=list)
    port: int = 0
    held: threading.Event = field(default_factory=threading.Event)
    done: Callable[[], None] = lambda: None

    def __post_init__(self) -> None:
        self.held.set()

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def serving(self) -> Iterator["DynamoDBProxy"]:
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(self))
        server.daemon_threads = True
        self.port = server.server_address[1]
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            server.server_close()

    def forward(self, headers: dict[str, str], body: bytes) -> tuple[int, bytes]:
        target = urlparse(self.upstream)
        connection = http.client.HTTPConnection(target.hostname or "", target.port, timeout=30)
        connection.request("POST", "/", body=body, headers=headers)
        response = connection.getresponse()
        return response.status, response.read()


def _handler(proxy: DynamoDBProxy) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            if proxy.answers:
                status, document = proxy.answers.pop(0)
                answer = json.dumps(document).encode()
            else:
                proxy.held.wait(timeout=60)
                status, answer = proxy.forward(dict(self.headers), body)
            proxy.calls.append(f"{self.headers['X-Amz-Target'].partition('.')[2]} {status}")
            proxy.done()
            if proxy.lose:
                proxy.lose -= 1
                self.close_connection = True
                return None
            return self._answer(status, answer)

        def _answer(self, status: int, body: bytes) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/x-amz-json-1.0")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Log nothing."""

    return Handler


class Resources:
    """The physical names behind the template's logical ids."""

    def __init__(self, stack: Stack, name: str = STACK_NAME) -> None:
        listed = resources(stack.client("cloudformation"), name)
        self._names = {one["LogicalResourceId"]: one["PhysicalResourceId"] for one in listed}

    def __getitem__(self, logical_id: str) -> str:
        return self._names[logical_id]


@contextmanager
def denied(stack: Stack, resources: Resources, function: str) -> Iterator[None]:
    """Deny a function's writes to DynamoDB."""
    role, iam = resources[f"{function}Role"], stack.client("iam")
    statement = {"Effect": "Deny", "Action": "dynamodb:*", "Resource": "*"}
    policy = json.dumps({"Version": "2012-10-17", "Statement": [statement]})
    iam.put_role_policy(RoleName=role, PolicyName="Fault", PolicyDocument=policy)
    try:
        yield
    finally:
        iam.delete_role_policy(RoleName=role, PolicyName="Fault")


@contextmanager
def status_events_lost(
    stack: Stack, resources: Resources, rule: str = "FinalizeOrderFunctionSagaEnded"
) -> Iterator[None]:
    """Lose every event of an execution's end. rule: whose events."""
    events, rule = stack.client("events"), resources[rule]
    events.disable_rule(Name=rule)
    try:
        yield
    finally:
        events.enable_rule(Name=rule)


@contextmanager
def topic_gone(stack: Stack, output: str) -> Iterator[None]:
    """Remove a topic, so that every publish to it fails."""
    sns, arn = stack.client("sns"), stack.outputs[output]
    sns.delete_topic(TopicArn=arn)
    try:
        yield
    finally:
        assert sns.create_topic(Name=arn.rpartition(":")[2])["TopicArn"] == arn


@contextmanager
def no_concurrency(stack: Stack, resources: Resources, function: str) -> Iterator[None]:
    """Throttle every call of a function."""
    client, name = stack.client("lambda"), resources[f"{function}Function"]
    client.put_function_concurrency(FunctionName=name, ReservedConcurrentExecutions=0)
    try:
        yield
    finally:
        client.delete_function_concurrency(FunctionName=name)


@contextmanager
def through_proxy(stack: Stack, resources: Resources, function: str) -> Iterator[DynamoDBProxy]:
    """Route a function's calls to DynamoDB through a proxy."""
    with (
        DynamoDBProxy(stack.endpoint or "").serving() as proxy,
        environment(stack, resources, function, AWS_ENDPOINT_URL_DYNAMODB=proxy.endpoint),
    ):
        yield proxy


def kill_worker(pid: int, port: int) -> None:
    """Kill the workers of an emulator (by process id) that are connected to a port."""
    for worker in workers(pid):
        with suppress(psutil.NoSuchProcess):
            if any(connection.raddr and connection.raddr.port == port for connection in worker.net_connections("tcp")):
                worker.kill()
                worker.wait(timeout=60)


@contextmanager
def killing_workers(emulator_pid: int, chance: random.Random, every: float = 0.5) -> Iterator[list[int]]:
    """Kill a random worker process of the emulator at random times. every: seconds between two kills, on average."""
    killed: list[int] = []
    over = threading.Event()

    def kill() -> None:
        while not over.wait(every * chance.uniform(0.5, 1.5)):
            # An idle stack has no workers.
            while not (alive := workers(emulator_pid)) and not over.wait(0.05):
                continue
            if alive:
                victim = chance.choice(alive)
                with suppress(psutil.NoSuchProcess):
                    victim.kill()
                    killed.append(victim.pid)

    thread = threading.Thread(target=kill, daemon=True)
    thread.start()
    try:
        yield killed
    finally:
        over.set()
        thread.join(bounded.SECONDS)


@contextmanager
def environment(stack: Stack, resources: Resources, function: str, **variables: str) -> Iterator[None]:
    """Change a function's environment variables."""
    client, name = stack.client("lambda"), resources[f"{function}Function"]
    before = client.get_function_configuration(FunctionName=name)["Environment"]["Variables"]
    _set_environment(client, name, before | variables)
    try:
        yield
    finally:
        _set_environment(client, name, before)


def _set_environment(client: Any, name: str, variables: dict[str, str]) -> None:
    client.update_function_configuration(FunctionName=name, Environment={"Variables": variables})
    eventually(lambda: client.get_function_configuration(FunctionName=name)["LastUpdateStatus"] == "Successful")


def workers(emulator_pid: int) -> list[psutil.Process]:
    """The workers of an emulator, forked by its fork server. Idle ones end by themselves at any time."""
    simulators = simulator_processes(emulator_pid)
    found: list[psutil.Process] = []
    for child in psutil.Process(emulator_pid).children():
        with suppress(psutil.NoSuchProcess):
            found += child.children() if child not in simulators else []
    return found


def simulator_processes(emulator_pid: int) -> list[psutil.Process]:
    """The processes of an emulator's simulators, which are its children like its workers."""
    modules = {simulator.module for simulator in SIMULATORS}
    found = []
    for child in psutil.Process(emulator_pid).children():
        with suppress(psutil.Error):
            if modules & set(child.cmdline()):
                found.append(child)
    return found


def eventually(condition: Callable[[], bool], *, seconds: float = 300, every: float = 0.05) -> None:
    """Wait for a condition. Raises TimeoutError."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError("the condition did not come true")
        time.sleep(every)
