"""Executions of a stack's state machines: their states, attempts and errors."""

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import islice

from botocore.exceptions import ClientError

from idempotency.saga import Saga
from runtime.machine import execution_arn as arn_of

from . import histories
from .causes import Cause, message_of
from .stack import Stack
from .state_visits import StateVisit as StateVisit

# DescribeExecution is allowed 15 times a second.
_MAX_LOOKED_AT = 100
_CLOCKS_DIFFER = timedelta(minutes=5)
RUNNING, SUCCEEDED = "RUNNING", "SUCCEEDED"


@dataclass(frozen=True, slots=True)
class Execution:
    """An execution. input: as JSON text. error and cause: the first error, if it failed. ended: None while it runs."""

    status: str
    input: str
    error: str | None
    cause: str | None
    states: list[StateVisit]
    name: str = ""
    started: datetime | None = None
    ended: datetime | None = None

    @property
    def why(self) -> Cause | None:
        """The error that this execution failed with, or retries now; None if nothing is wrong."""
        failing = next((visit for visit in self.states if visit.failed and visit.cause), None)
        if failing and (self.status == RUNNING or self.error in (None, failing.errors[-1])):
            return failing.cause
        if self.error is None and self.cause is None:
            return None
        return Cause(self.error or self.status, message_of(self.cause or ""))

    @property
    def last(self) -> Cause | None:
        """The last failed state: for a recovery, or compensations that gave up, the one to look at."""
        return next((visit.cause for visit in reversed(self.states) if visit.failed), None) or self.why


def execution_arn(stack: Stack, name: str, *, output: str = "OrderSagaArn") -> str:
    """Build the ARN of an execution of the state machine that an output of the stack names."""
    return arn_of(stack.outputs[output], name)


def execution(stack: Stack, name: str, *, output: str = "OrderSagaArn") -> Execution:
    """Read an execution by its name. output: the stack's output that names the state machine.

    Raises ClientError if there is none.
    """
    arn = execution_arn(stack, name, output=output)
    described = stack.stepfunctions.describe_execution(executionArn=arn)
    return Execution(
        described["status"],
        described["input"],
        described.get("error"),
        described.get("cause"),
        histories.read(stack, arn).visits,
        name,
        described.get("startDate"),
        described.get("stopDate"),
    )


def find(stack: Stack, machine: str, name: str) -> Execution | None:
    """Return the execution of this name, if there is one. machine: the logical id of the state machine."""
    try:
        return execution(stack, name, output=f"{machine}Arn")
    except ClientError as error:
        if error.response["Error"]["Code"] != "ExecutionDoesNotExist":
            raise
        return None


def under_another_name(stack: Stack, saga: Saga, saga_id: str, since: datetime, until: datetime) -> Execution | None:
    """Find the execution that had this id in its input, but not as its name. Reads at most 100 executions.

    since, until: when it may have started.
    """
    for name in islice(_names_between(stack, saga.machine, since, until), _MAX_LOOKED_AT):
        arn = execution_arn(stack, name, output=f"{saga.machine}Arn")
        if saga.id_of(json.loads(stack.stepfunctions.describe_execution(executionArn=arn)["input"])) == saga_id:
            return find(stack, saga.machine, name)
    return None


def _names_between(stack: Stack, machine: str, since: datetime, until: datetime) -> Iterator[str]:
    """Yield the executions that started between two moments, newest first."""
    pages = stack.stepfunctions.get_paginator("list_executions").paginate(
        stateMachineArn=stack.outputs[f"{machine}Arn"]
    )
    for one in (one for page in pages for one in page["executions"]):
        if one["startDate"] < since - _CLOCKS_DIFFER:
            return
        if one["startDate"] <= until + _CLOCKS_DIFFER:
            yield one["name"]


def recovery_names(saga_id: str) -> Iterator[str]:
    """Yield the names of recoveries.

    The first has the saga's name; later ones a derived name of up to 80 characters.
    """
    yield saga_id
    digest = hashlib.sha256(saga_id.encode()).hexdigest()[:8]
    number = 2
    while True:
        yield f"{saga_id[:60]}-{digest}-{number}"
        number += 1


def recoveries(stack: Stack, machine: str, saga_id: str) -> list[Execution]:
    """Return the recoveries of a saga, oldest first. machine: the recoveries' state machine."""
    found: list[Execution] = []
    for name in recovery_names(saga_id):
        one = find(stack, machine, name)
        if one is None:
            return found
        found.append(one)
    raise AssertionError("there is always a next name")
