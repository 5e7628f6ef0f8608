"""Executions of a state machine as Step Functions lists them: by status, newest first."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

from botocore.exceptions import ClientError

from .causes import message_of
from .errors import CommandError
from .executions import execution_arn
from .stack import Stack

FAILED = ("FAILED", "TIMED_OUT", "ABORTED")
RECENT = timedelta(days=7)
"""Default age limit of failed executions."""
_MAX = 100


class RunNotFound(CommandError):
    """The machine had no such execution, or it is older than 90 days."""


@dataclass(frozen=True, slots=True)
class Run:
    """One execution. input: JSON text. error: its name; empty without one. message: the error's sentence."""

    name: str
    status: str
    started: datetime
    ended: datetime | None
    input: str
    error: str
    message: str

    @property
    def cause(self) -> str:
        return ": ".join(filter(None, [self.error, self.message])) or self.status


def listed(
    stack: Stack, output: str, status: str | None = None, since: datetime | None = None, last: int = _MAX
) -> list[Run]:
    """Return the last executions, newest first. output: the stack output with the machine's ARN.

    since: when they started.
    """
    found = (one for one in _pages(stack, output, status))
    newest = islice(_since(found, since), last)
    return [
        _run(one["name"], stack.stepfunctions.describe_execution(executionArn=one["executionArn"])) for one in newest
    ]


def names(stack: Stack, output: str, status: str, since: datetime) -> Iterator[str]:
    """Yield the names of executions with a status that started since a time, newest first."""
    return (one["name"] for one in _since(_pages(stack, output, status), since))


def failed(stack: Stack, output: str, since: datetime | None = None, last: int = _MAX) -> list[Run]:
    """Return unsuccessful executions, newest first; by default of a week, because their cause expires later."""
    since = since or datetime.now(UTC) - RECENT
    found = [one for status in FAILED for one in listed(stack, output, status, since, last)]
    return sorted(found, key=lambda one: one.started, reverse=True)[:last]


def find(stack: Stack, output: str, name: str) -> Run:
    """Return the execution of this name. Raises RunNotFound."""
    return _run(name, description(stack, execution_arn(stack, name, output=output)))


def description(stack: Stack, arn: str) -> Any:
    """Return DescribeExecution's response. Raises RunNotFound."""
    try:
        return stack.stepfunctions.describe_execution(executionArn=arn)
    except ClientError as error:
        if error.response["Error"]["Code"] not in ("ExecutionDoesNotExist", "InvalidArn", "ValidationException"):
            raise
        name = arn.rpartition(":")[2]
        raise RunNotFound(f"there is no execution {name}; Step Functions keeps them for 90 days") from None


def _pages(stack: Stack, output: str, status: str | None) -> Iterator[Any]:
    only: Any = {"statusFilter": status} if status else {}
    pages = stack.stepfunctions.get_paginator("list_executions").paginate(
        stateMachineArn=stack.outputs[output], PaginationConfig={"PageSize": _MAX}, **only
    )
    for page in pages:
        yield from page["executions"]


def _since(found: Iterator[Any], since: datetime | None) -> Iterator[Any]:
    for one in found:
        if since and one["startDate"] < since:
            return
        yield one


def _run(name: str, told: Any) -> Run:
    return Run(
        name,
        told["status"],
        told["startDate"],
        told.get("stopDate"),
        told.get("input", ""),
        told.get("error", ""),
        message_of(told.get("cause", "")),
    )
