"""Cases of AWS behaviour: each quotes AWS's documentation, and says if MiniStack lacks it."""

import json
import time
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tests.kit.ministack import Account

type Definition = dict[str, Any]

GUIDE = "Step Functions developer guide"
SPEC = "Amazon States Language specification"
API = "Step Functions API reference"
_SECONDS = 20


@dataclass(frozen=True)
class Case:
    """A behaviour of AWS. source: document and sentence. observe: its result. lacking: MiniStack differs."""

    name: str
    source: str
    observe: Callable[["Lab"], Any]
    expected: Any
    lacking: bool = True


@dataclass(frozen=True)
class Lab:
    """An engine under observation. role: may do everything."""

    account: Account
    role: str

    @property
    def states(self) -> Any:
        return self.account.client("stepfunctions")

    def machine(self, definition: Definition) -> str:
        """The ARN of a new machine."""
        name, text = f"m-{uuid.uuid4().hex[:12]}", json.dumps(definition)
        arn: str = self.states.create_state_machine(name=name, definition=text, roleArn=self.role)["stateMachineArn"]
        return arn

    def start(self, definition: Definition, given: Any = None) -> "Run":
        """Start an execution of a new machine."""
        return self.run(self.machine(definition), given)

    def run(self, machine_arn: str, given: Any = None) -> "Run":
        started = self.states.start_execution(stateMachineArn=machine_arn, input=json.dumps(given or {}))
        return Run(self, started["executionArn"])

    def queue(self) -> str:
        """The URL of a new queue."""
        url: str = self.account.client("sqs").create_queue(QueueName=f"q-{uuid.uuid4().hex[:12]}")["QueueUrl"]
        return url

    def message(self, queue: str) -> Any:
        """The next message of a queue, as JSON. Raises TimeoutError."""
        deadline = time.monotonic() + _SECONDS
        while time.monotonic() < deadline:
            for message in self.account.client("sqs").receive_message(QueueUrl=queue).get("Messages", []):
                self.account.client("sqs").delete_message(QueueUrl=queue, ReceiptHandle=message["ReceiptHandle"])
                return json.loads(message["Body"])
            time.sleep(0.02)
        raise TimeoutError("no message")

    def answer(self, operation: str, **parameters: Any) -> str:
        """The error code of a call; "" if it is accepted."""
        try:
            getattr(self.states, operation)(**parameters)
        except self.states.exceptions.ClientError as error:
            return str(error.response["Error"]["Code"])
        return ""

    def succeed(self, token: str, output: str = "{}") -> str:
        return self.answer("send_task_success", taskToken=token, output=output)

    def fail(self, token: str, error: str = "Refused") -> str:
        return self.answer("send_task_failure", taskToken=token, error=error)


@dataclass(frozen=True)
class Run:
    """An execution."""

    lab: Lab
    arn: str

    def described(self) -> Any:
        return self.lab.states.describe_execution(executionArn=self.arn)

    def ended(self) -> Any:
        """Wait for its end. Returns its description. Raises TimeoutError."""
        return self.lab.account.ended(self.arn)

    def end(self) -> tuple[str, Any]:
        """Wait for the end, and return the status with the output or error."""
        found = self.ended()
        return found["status"], json.loads(found["output"]) if found["status"] == "SUCCEEDED" else found.get("error")

    def events(self) -> list[Any]:
        found: list[Any] = self.lab.states.get_execution_history(executionArn=self.arn, maxResults=1000)["events"]
        return found

    def kinds(self) -> list[str]:
        return [event["type"] for event in self.events()]

    def entered(self) -> list[str]:
        """The states in the order of entry."""
        return [one["stateEnteredEventDetails"]["name"] for one in self.events() if "StateEntered" in one["type"]]

    def until(self, holds: Callable[["Run"], bool]) -> None:
        """Wait for a condition. Raises TimeoutError."""
        deadline = time.monotonic() + _SECONDS
        while not holds(self):
            if time.monotonic() > deadline:
                raise TimeoutError("it did not come so far")
            time.sleep(0.02)

    def stop(self) -> None:
        self.lab.states.stop_execution(executionArn=self.arn)

    def redrive(self) -> str:
        """Redrive the execution. Returns the error code; "" if it succeeds."""
        return self.lab.answer("redrive_execution", executionArn=self.arn)


def machine(**states: Definition) -> Definition:
    """A machine of states in sequence, unless they say otherwise."""
    names = list(states)
    for name, following in zip(names, [*names[1:], None], strict=True):
        if states[name]["Type"] not in {"Fail", "Succeed", "Choice"} and "Next" not in states[name]:
            states[name] |= {"Next": following} if following else {"End": True}
    return {"StartAt": names[0], "States": states}


def callback(queue: str, **fields: Any) -> Definition:
    """A task that waits for the response to the token in its message."""
    body = {"token.$": "$$.Task.Token", "input.$": "$"}
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken",
        "Parameters": {"QueueUrl": queue, "MessageBody": body},
        **fields,
    }


def wait(seconds: float = 15) -> Definition:
    return {"Type": "Wait", "Seconds": seconds}


def refuse(error: str = "Refused") -> Definition:
    return {"Type": "Fail", "Error": error}


def give(value: Any) -> Definition:
    return {"Type": "Pass", "Result": value}


def parallel(*branches: Definition, **fields: Any) -> Definition:
    return {"Type": "Parallel", "Branches": list(branches), **fields}


def each(processor: Definition, **fields: Any) -> Definition:
    return {"Type": "Map", "ItemProcessor": processor, **fields}
