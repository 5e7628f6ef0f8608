"""AWS behaviour of executions that a state starts and waits for."""

import json
import uuid
from typing import Any

from tests.emulator.conformance import API, GUIDE, Case, Definition, Lab, callback, give, machine, refuse


def child(lab: Lab, definition: Definition) -> str:
    """The ARN of a new machine."""
    text, name = json.dumps(definition), f"m-{uuid.uuid4().hex[:12]}"
    arn: str = lab.states.create_state_machine(name=name, definition=text, roleArn=lab.role)["stateMachineArn"]
    return arn


def runs(arn: str) -> Definition:
    """A state that runs a machine to its end, under one name."""
    parameters = {"StateMachineArn": arn, "Name": "one", "Input": {"n": 1}}
    return {
        "Type": "Task",
        "Resource": "arn:aws:states:::states:startExecution.sync:2",
        "Parameters": parameters,
        "ResultSelector": {"status.$": "$.Status", "output.$": "$.Output"},
    }


def name_of_one_that_ended(lab: Lab) -> Any:
    arn = child(lab, machine(Give=give(1)))
    return [lab.start(machine(Run=runs(arn))).end() for _ in range(2)]


def two_wait_for_one(lab: Lab) -> Any:
    queue = lab.queue()
    arn = child(lab, machine(Ask=callback(queue)))
    first = lab.start(machine(Run=runs(arn)))
    token = lab.message(queue)["token"]
    second = lab.start(machine(Run=runs(arn)))
    second.until(lambda run: "TaskScheduled" in run.kinds())
    lab.succeed(token, '"answered"')
    return [first.end(), second.end(), len(lab.states.list_executions(stateMachineArn=arn)["executions"])]


def stopped(lab: Lab) -> Any:
    queue = lab.queue()
    arn = child(lab, machine(Ask=callback(queue)))
    run = lab.start(machine(Run=runs(arn)))
    lab.message(queue)
    run.stop()
    found = lab.account.ended(f"{arn.replace(':stateMachine:', ':execution:')}:one")
    return [run.described()["status"], found["status"]]


_DONE = ("SUCCEEDED", {"status": "SUCCEEDED", "output": 1})
_ANSWERED = ("SUCCEEDED", {"status": "SUCCEEDED", "output": "answered"})

CASES = [
    Case(
        "the name of a child that has ended is taken",
        f"{API}, StartExecution: ExecutionAlreadyExists; service integrations prefix an exception with its service",
        name_of_one_that_ended,
        [_DONE, ("FAILED", "StepFunctions.ExecutionAlreadyExistsException")],
    ),
    Case(
        "two states with the same name and input wait for one child",
        f"{API}, StartExecution: idempotent for STANDARD workflows while the execution is open",
        two_wait_for_one,
        [_ANSWERED, _ANSWERED, 1],
    ),
    Case(
        "a child that fails is States.TaskFailed",
        f"{GUIDE}, Run a job (.sync): the task fails if the execution fails",
        lambda lab: lab.start(machine(Run=runs(child(lab, machine(Bad=refuse()))))).end(),
        ("FAILED", "States.TaskFailed"),
    ),
    Case(
        "stopping a parent stops its child",
        f"{GUIDE}, Run a job (.sync): Step Functions makes a best-effort attempt to cancel the task",
        stopped,
        ["ABORTED", "ABORTED"],
    ),
]
