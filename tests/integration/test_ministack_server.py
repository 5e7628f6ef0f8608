"""The gaps between MiniStack and AWS that local/ministack_server.py closes: each is still there, and is closed here."""

import io
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import uuid
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.config import Config

from local import emulator
from tests.integration.faults import eventually

pytestmark = pytest.mark.local_only("are about the local stack itself")

OUT_OF_STOCK = """
import os

class OutOfStock(Exception):
    pass

def handler(event, context):
    if event.get("fail"):
        raise OutOfStock("no pen-01 left")
    return os.getpid()
"""
EXIT = """
import os

def handler(event, context):
    if event.get("fail"):
        os._exit(1)
    return os.getpid()
"""
SYSTEM_EXIT = """
import sys

def handler(event, context):
    sys.exit(1)
"""
SEES = """
import importlib.util

def handler(event, context):
    return importlib.util.find_spec(event["module"]) is not None
"""

SLEEP_OR_DIE_AT_START = """
import os
import time

if os.path.exists("{marker}/" + os.environ["AWS_LAMBDA_FUNCTION_NAME"] + "-die"):
    os._exit(1)

def handler(event, context):
    time.sleep(event["seconds"])
    return "slept"
""".replace("{marker}", tempfile.gettempdir())
NOTE_AND_FAIL = """
def handler(event, context):
    with open(event["detail"]["file"], "a") as notes:
        notes.write("called\\n")
    raise ValueError("again, please")
"""
# AWS tries an asynchronous call three times; MiniStack's async path waits 1 s and 2 s in between.
TRIES, TRIES_TAKE = 3, 10

FAIL = {"fail": True}
STILL_THERE = (
    "MiniStack does this by itself now: take the fix out of local/ministack_server.py, and this test with it. Gap: "
)


# --- an account, and functions in it ---


@dataclass(frozen=True)
class Answer:
    """What an invocation answers. error: the class name of what was raised."""

    error: str | None
    body: Any
    log: str


@dataclass(frozen=True)
class Function:
    """A deployed Python function."""

    account: "Account"
    name: str
    arn: str

    def call(self, event: Any = None) -> Answer:
        """Invoke the function and wait for its answer."""
        answer = self.account.client("lambda").invoke(
            FunctionName=self.name, Payload=json.dumps(event or {}), LogType="Tail"
        )
        body = json.loads(answer["Payload"].read())
        error = body["errorType"] if "FunctionError" in answer else None
        return Answer(error, body, answer.get("LogResult", ""))

    def throttle(self) -> None:
        """Let every further call be one too many."""
        self.account.client("lambda").put_function_concurrency(FunctionName=self.name, ReservedConcurrentExecutions=0)

    def release(self) -> None:
        """Take `throttle` back."""
        self.account.client("lambda").delete_function_concurrency(FunctionName=self.name)

    def on_events(self) -> None:
        """Let EventBridge call the function with each event whose source is the function's name."""
        events = self.account.client("events")
        rule = events.put_rule(Name=self.name, EventPattern=json.dumps({"source": [self.name]}))["RuleArn"]
        events.put_targets(Rule=self.name, Targets=[{"Id": "function", "Arn": self.arn}])
        self.account.client("lambda").add_permission(
            FunctionName=self.name,
            StatementId="events",
            Action="lambda:InvokeFunction",
            Principal="events.amazonaws.com",
            SourceArn=rule,
        )

    def send_event(self, detail: Any) -> None:
        entry = {"Source": self.name, "DetailType": "test", "Detail": json.dumps(detail)}
        self.account.client("events").put_events(Entries=[entry])


@cache
def _client(endpoint: str, service: str, seconds: float) -> Any:
    config = Config(read_timeout=seconds, retries={"total_max_attempts": 1})
    return _session().client(service, endpoint_url=endpoint, config=config)  # type: ignore[call-overload]


@cache
def _session() -> boto3.Session:
    return boto3.Session(aws_access_key_id="test", aws_secret_access_key="test", region_name=emulator.REGION)


@dataclass(frozen=True)
class Account:
    """The account of an emulator, as its root user sees it."""

    endpoint: str

    def client(self, service: str, *, seconds: float = 30) -> Any:
        """seconds: how long an answer may take; nothing is sent twice."""
        return _client(self.endpoint, service, seconds)

    def function(self, source: str) -> Function:
        """Deploy a function of one module, whose `handler` is called."""
        name = f"f-{uuid.uuid4().hex[:12]}"
        created = self.client("lambda").create_function(
            FunctionName=name,
            Runtime="python3.13",
            Handler="module.handler",
            Role=self.role(name),
            Code={"ZipFile": _zipped(source)},
            Timeout=60,
        )
        return Function(self, name, created["FunctionArn"])

    def run(self, function: Function, event: Any) -> Any:
        """The description of an execution whose one task calls a function, at its end."""
        states, name = self.client("stepfunctions"), f"m-{uuid.uuid4().hex[:12]}"
        task = {"Type": "Task", "Resource": function.arn, "End": True}
        machine = states.create_state_machine(
            name=name,
            definition=json.dumps({"StartAt": "Call", "States": {"Call": task}}),
            roleArn=self.role(name, may="lambda:InvokeFunction"),
        )
        started = states.start_execution(stateMachineArn=machine["stateMachineArn"], input=json.dumps(event))
        return self.ended(started["executionArn"])

    def ended(self, arn: str) -> Any:
        """The description of an execution, at its end."""
        return _ended(self.client("stepfunctions"), arn)

    def role(self, name: str, *, may: str | None = None) -> str:
        """The ARN of a new role, which may do one thing or nothing."""
        iam = self.client("iam")
        services = ["lambda.amazonaws.com", "states.amazonaws.com"]
        arn: str = iam.create_role(
            RoleName=name, AssumeRolePolicyDocument=_policy("sts:AssumeRole", Principal={"Service": services})
        )["Role"]["Arn"]
        if may:
            iam.put_role_policy(RoleName=name, PolicyName="May", PolicyDocument=_policy(may, Resource="*"))
        return arn


def _policy(action: str, **whom: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, **whom}]})


def _zipped(source: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("module.py", source)
    return buffer.getvalue()


def _ended(states: Any, arn: str) -> Any:
    deadline = time.monotonic() + 20
    while (described := states.describe_execution(executionArn=arn))["status"] == "RUNNING":
        if time.monotonic() > deadline:
            raise TimeoutError("the execution did not end")
        time.sleep(0.02)
    return described


def with_sources_on_path() -> dict[str, str]:
    """Environment of a program that imports what the tests import."""
    sources = [emulator.ROOT, emulator.ROOT / "functions", emulator.ROOT / "layers/idempotency"]
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, sources))}


# --- MiniStack as it comes, and ours ---


@pytest.fixture(scope="module")
def upstream(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Account]:
    """MiniStack as it comes, with the same settings as ours."""
    with as_it_comes(tmp_path_factory.mktemp("upstream")) as account:
        yield account


@contextmanager
def as_it_comes(home: Path, **settings: str) -> Iterator[Account]:
    """MiniStack as it comes. settings: more variables of its environment."""
    port = emulator.free_port()
    endpoint = f"http://127.0.0.1:{port}"
    variables = emulator.environment(endpoint) | {
        "GATEWAY_PORT": str(port),
        "BIND_HOST": "127.0.0.1",
        "AUTH": "true",
        "IOT_MTLS_ENABLED": "0",
        "LOG_LEVEL": "WARNING",
        "TMPDIR": str(home),
        **settings,
    }
    with (home / "log").open("wb") as log:
        process = subprocess.Popen([sys.executable, "-m", "ministack"], cwd=home, env=variables, stdout=log, stderr=log)
    try:
        _wait_until_it_answers(port, process)
        yield Account(endpoint)
    finally:
        process.kill()
        process.wait()


def _wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 30
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise TimeoutError("MiniStack did not come up")


@pytest.fixture(scope="module")
def ours() -> Iterator[Account]:
    with emulator.attached() as started:
        yield Account(started.endpoint)


# --- 1. an exception arrives under its class name, and the worker lives on ---


def test_ministack_still_hides_the_class_of_an_exception(upstream: Account) -> None:
    answer = upstream.function(OUT_OF_STOCK).call(FAIL)
    assert answer.error == "Runtime.HandlerError", f"{STILL_THERE}the class name of an exception"


def test_ministack_still_hides_the_class_of_an_exception_from_state_machines(upstream: Account) -> None:
    execution = upstream.run(upstream.function(OUT_OF_STOCK), FAIL)
    assert execution["error"] == "Runtime.HandlerError", f"{STILL_THERE}the class name that Retry and Catch match"


def test_ministack_still_starts_another_worker_after_an_exception(upstream: Account) -> None:
    function = upstream.function(OUT_OF_STOCK)
    before = function.call().body
    assert function.call().body == before
    function.call(FAIL)
    assert function.call().body != before, f"{STILL_THERE}a worker ends at every exception"


def test_an_exception_arrives_as_on_aws(ours: Account) -> None:
    answer = ours.function(OUT_OF_STOCK).call(FAIL)
    assert answer.error == "OutOfStock"
    assert answer.body.keys() == {"errorMessage", "errorType", "requestId", "stackTrace"}
    assert answer.body["errorMessage"] == "no pen-01 left"
    assert 'raise OutOfStock("no pen-01 left")' in answer.body["stackTrace"][-1]


def test_a_state_machine_sees_the_class_name_of_an_exception(ours: Account) -> None:
    execution = ours.run(ours.function(OUT_OF_STOCK), FAIL)
    assert execution["error"] == "OutOfStock"
    assert json.loads(execution["cause"])["errorMessage"] == "no pen-01 left"


def test_the_worker_lives_on_after_an_exception(ours: Account) -> None:
    function = ours.function(OUT_OF_STOCK)
    before = function.call().body
    assert function.call(FAIL).error == "OutOfStock"
    assert function.call().body == before


# --- 2. a worker that died ---


@pytest.mark.parametrize("source", [EXIT, SYSTEM_EXIT], ids=["os._exit", "sys.exit"])
def test_ministack_still_does_not_tell_that_a_worker_died(upstream: Account, source: str) -> None:
    answer = upstream.function(source).call(FAIL)
    assert answer.error == "Runtime.HandlerError", f"{STILL_THERE}Runtime.ExitError"


@pytest.mark.parametrize("source", [EXIT, SYSTEM_EXIT], ids=["os._exit", "sys.exit"])
def test_a_worker_that_died_is_an_exit_error(ours: Account, source: str) -> None:
    assert ours.function(source).call(FAIL).error == "Runtime.ExitError"


def test_a_state_machine_sees_that_a_worker_died(ours: Account) -> None:
    assert ours.run(ours.function(EXIT), FAIL)["error"] == "Runtime.ExitError"


def test_another_worker_takes_the_place_of_one_that_died(ours: Account) -> None:
    function = ours.function(EXIT)
    before = function.call().body
    function.call(FAIL)
    after = function.call()
    assert after.error is None
    assert after.body != before


def _busy_while_another_dies(account: Account) -> Answer:
    """The answer of a call that is at work while a worker of the same function is killed at its start."""
    function = account.function(SLEEP_OR_DIE_AT_START)
    with ThreadPoolExecutor(1) as pool:
        busy = pool.submit(function.call, {"seconds": 3})
        time.sleep(1.5)
        Path(_marker(function)).touch()
        function.call({"seconds": 0})
        return busy.result()


def _marker(function: Function) -> str:
    return f"{tempfile.gettempdir()}/{function.name}-die"


def test_ministack_still_ends_all_workers_of_a_function_when_one_dies_at_its_start(upstream: Account) -> None:
    answer = _busy_while_another_dies(upstream)
    assert answer.error is not None, f"{STILL_THERE}a worker that dies at its start takes the others along"


def test_a_worker_that_dies_at_its_start_takes_no_other_along(ours: Account) -> None:
    answer = _busy_while_another_dies(ours)
    assert (answer.error, answer.body) == (None, "slept")


# --- 3. a call too many ---


def test_ministack_still_hides_a_throttle_from_state_machines(upstream: Account) -> None:
    function = upstream.function(OUT_OF_STOCK)
    function.throttle()
    execution = upstream.run(function, {})
    assert execution["error"] == "Lambda.Unknown", f"{STILL_THERE}Lambda.TooManyRequestsException"


def test_a_state_machine_sees_a_throttle(ours: Account) -> None:
    function = ours.function(OUT_OF_STOCK)
    function.throttle()
    execution = ours.run(function, {})
    assert (execution["status"], execution["error"]) == ("FAILED", "Lambda.TooManyRequestsException")


def test_a_caller_of_lambda_still_sees_a_throttle(ours: Account) -> None:
    function, client = ours.function(OUT_OF_STOCK), ours.client("lambda")
    function.throttle()
    with pytest.raises(client.exceptions.TooManyRequestsException):
        client.invoke(FunctionName=function.name, Payload="{}")


# --- 4. an event that a function refuses ---


def _calls(path: Path) -> int:
    return path.read_text().count("called") if path.exists() else 0


def _failing_on_events(account: Account) -> Function:
    function = account.function(NOTE_AND_FAIL)
    function.on_events()
    return function


def test_ministack_still_drops_an_event_that_a_function_refused(upstream: Account, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    _failing_on_events(upstream).send_event({"file": str(notes)})
    eventually(lambda: _calls(notes) > 0)
    time.sleep(TRIES_TAKE / 2)
    assert _calls(notes) == 1, f"{STILL_THERE}an event is tried again"


def test_an_event_that_a_function_refused_is_tried_again(ours: Account, tmp_path: Path) -> None:
    notes = tmp_path / "notes"
    _failing_on_events(ours).send_event({"file": str(notes)})
    eventually(lambda: _calls(notes) == TRIES, seconds=TRIES_TAKE)


def test_an_event_waits_for_a_function_that_is_throttled(ours: Account, tmp_path: Path) -> None:
    notes, function = tmp_path / "notes", _failing_on_events(ours)
    function.throttle()
    function.send_event({"file": str(notes)})
    time.sleep(TRIES_TAKE / 2)
    assert _calls(notes) == 0
    function.release()
    eventually(lambda: _calls(notes) > 0)


# --- what else the emulator process sees to ---


def test_a_function_finds_nothing_of_this_repository_that_was_not_deployed_with_it(ours: Account) -> None:
    assert ours.function(SEES).call({"module": "local"}).body is False


def test_a_ministack_that_has_changed_where_the_fix_applies_is_refused() -> None:
    program = """
from ministack.core import lambda_runtime
lambda_runtime._PYTHON_WORKER_SCRIPT = "another worker"
from local.ministack_server import close_gaps
close_gaps()
"""
    ended = subprocess.run(
        [sys.executable, "-c", program],
        env=with_sources_on_path(),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1
    assert "RuntimeError: this MiniStack answers exceptions in another way" in ended.stderr
