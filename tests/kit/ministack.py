"""An account of a local AWS: unpatched MiniStack or the patched emulator, and functions in it."""

import io
import json
import os
import socket
import subprocess
import sys
import time
import uuid
import zipfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import boto3
from botocore.config import Config

from stepwise.local.emulator import emulator
from tests.kit.project import PATH

# MiniStack waits 1 s and 2 s between the attempts of an asynchronous call.
SOON = {"LAMBDA_ASYNC_RETRY_BASE_SECONDS": "0.05"}
# Limits of an emulator: history events, and the duration of a transaction.
HISTORY, TRANSACTION_SECONDS = 300, 1.0


def still_there(module: str, gap: str) -> str:
    """The message of a test that fails once MiniStack needs no patch. module: of the patch."""
    return f"MiniStack does this by itself now: remove it from patches/{module}.py, and this test. Gap: {gap}"


@dataclass(frozen=True)
class Answer:
    """The result of an invocation. error: the class name of the error."""

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
        """Invoke the function synchronously."""
        answer = self.account.client("lambda").invoke(
            FunctionName=self.name, Payload=json.dumps(event or {}), LogType="Tail"
        )
        body = json.loads(answer["Payload"].read())
        error = body["errorType"] if "FunctionError" in answer else None
        return Answer(error, body, answer.get("LogResult", ""))

    def deploy(self, source: str) -> None:
        """Replace the code."""
        self.account.client("lambda").update_function_code(FunctionName=self.name, ZipFile=_zipped(source))

    def throttle(self) -> None:
        """Throttle every further call."""
        self.account.client("lambda").put_function_concurrency(FunctionName=self.name, ReservedConcurrentExecutions=0)

    def release(self) -> None:
        """Undo `throttle`."""
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
    """The account of an emulator, for its root user."""

    endpoint: str

    def client(self, service: str, *, seconds: float = 30) -> Any:
        """Returns a client without retries. seconds: timeout of a response."""
        return _client(self.endpoint, service, seconds)

    def function(self, source: str, *, may: str | None = None, **settings: Any) -> Function:
        """Deploy a function of one module with a `handler`. may: an action that its role allows."""
        name = f"f-{uuid.uuid4().hex[:12]}"
        created = self.client("lambda").create_function(
            FunctionName=name,
            Runtime="python3.13",
            Handler="module.handler",
            Role=self.role(name, may=may),
            Code={"ZipFile": _zipped(source)},
            Timeout=60,
            **settings,
        )
        return Function(self, name, created["FunctionArn"])

    def run(self, function: Function, event: Any) -> Any:
        """The final description of an execution whose only task calls a function."""
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
        """The final description of an execution."""
        return _ended(self.client("stepfunctions"), arn)

    def role(self, name: str, *, may: str | None = None) -> str:
        """The ARN of a new role that allows one action or none."""
        iam = self.client("iam")
        services = ["lambda.amazonaws.com", "states.amazonaws.com"]
        arn: str = iam.create_role(
            RoleName=name, AssumeRolePolicyDocument=_policy("sts:AssumeRole", Principal={"Service": services})
        )["Role"]["Arn"]
        if may:
            iam.put_role_policy(RoleName=name, PolicyName="May", PolicyDocument=_policy(may, Resource="*"))
        return arn

    def assumed(self, role: str, service: str) -> Any:
        """A client of a role's session."""
        granted = self.client("sts").assume_role(RoleArn=role, RoleSessionName="test")["Credentials"]
        keys = (granted["AccessKeyId"], granted["SecretAccessKey"], granted["SessionToken"])
        return boto3.Session(*keys, region_name=emulator.REGION).client(service, endpoint_url=self.endpoint)  # type: ignore[call-overload]


def _policy(action: str, **whom: Any) -> str:
    return json.dumps({"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Action": action, **whom}]})


def _zipped(source: str) -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        # Without a timestamp, the same source gives the same archive.
        archive.writestr(zipfile.ZipInfo("module.py"), source)
    return buffer.getvalue()


def _ended(states: Any, arn: str) -> Any:
    deadline = time.monotonic() + 20
    while (described := states.describe_execution(executionArn=arn))["status"] == "RUNNING":
        if time.monotonic() > deadline:
            raise TimeoutError("the execution did not end")
        time.sleep(0.02)
    return described


def with_sources_on_path() -> dict[str, str]:
    """Environment of a program that imports the same packages as the tests."""
    return os.environ | {"PYTHONPATH": os.pathsep.join(map(str, PATH))}


@contextmanager
def as_it_comes(home: Path, **settings: str) -> Iterator[Account]:
    """Run unpatched MiniStack. settings: more variables of its environment."""
    with ExitStack() as starting:
        port = starting.enter_context(emulator.reserved_port())
        endpoint = f"http://127.0.0.1:{port}"
        variables = emulator.environment(endpoint) | {
            "GATEWAY_PORT": str(port),
            "BIND_HOST": "127.0.0.1",
            "AUTH": "true",
            "IOT_MTLS_ENABLED": "0",
            "LOG_LEVEL": "WARNING",
            "STATE_DIR": str(home / "state"),
            "TMPDIR": str(home),
            **settings,
        }
        with (home / "log").open("wb") as log:
            command = [sys.executable, "-m", "ministack"]
            process = subprocess.Popen(command, cwd=home, env=variables, stdout=log, stderr=log)
        try:
            _wait_until_it_answers(port, process)
            starting.close()
            yield Account(endpoint)
        finally:
            process.kill()
            process.wait()


def _wait_until_it_answers(port: int, process: subprocess.Popen[bytes]) -> None:
    deadline = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < deadline:
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), timeout=1):
            return
        time.sleep(0.05)
    raise TimeoutError("MiniStack did not come up")
