"""The state machines of a stack, and all their executions, newest first."""

import heapq
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import islice
from typing import Any

from .causes import message_of
from .daemons import mapped
from .executions import execution_arn
from .runs import RunNotFound, description
from .stack import Stack

_MACHINE = ":stateMachine:"
_OUTPUT = "Arn"
_AT_ONCE = 4
# ListExecutions returns at most this many; few pages reach far back.
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Listed:
    """One execution as Step Functions lists it. machine: as the stack's output names it, without `Arn`."""

    machine: str
    name: str
    status: str
    started: datetime
    ended: datetime | None

    @property
    def changed(self) -> datetime:
        """Time of the end, or of the start of a running execution; Step Functions sorts by it."""
        return self.ended or self.started


def machines(stack: Stack) -> list[str]:
    """Return the machines by the stack's outputs, without `Arn`: `OrderSaga`."""
    return sorted(name.removesuffix(_OUTPUT) for name, value in stack.outputs.items() if _MACHINE in value)


@dataclass(frozen=True, slots=True)
class Described:
    """One execution. input and output: JSON text. cause: the error's sentence."""

    listed: Listed
    arn: str
    input: str
    output: str
    error: str
    cause: str

    @property
    def key(self) -> tuple[str, datetime]:
        """Identifies the execution: a name may be reused 90 days later, or after the local stack was started again."""
        return self.arn, self.listed.started


def described(stack: Stack, machine: str, name: str) -> Described:
    """Describe one execution. Raises RunNotFound."""
    if f"{machine}{_OUTPUT}" not in stack.outputs:
        raise RunNotFound(f"the stack has no machine {machine}")
    arn = execution_arn(stack, name, output=f"{machine}{_OUTPUT}")
    found = description(stack, arn)
    listed = Listed(machine, name, found["status"], found["startDate"], found.get("stopDate"))
    return Described(
        listed,
        arn,
        found.get("input", ""),
        found.get("output", ""),
        found.get("error", ""),
        message_of(found.get("cause", "")),
    )


def find(stack: Stack, machine: str, name: str) -> Described | None:
    """Return an execution, if there is one."""
    try:
        return described(stack, machine, name)
    except RunNotFound:
        return None


def definition(stack: Stack, arn: str) -> str:
    """Return the definition that an execution runs, as JSON text."""
    return stack.stepfunctions.describe_state_machine_for_execution(executionArn=arn)["definition"]


def map_run(stack: Stack, arn: str) -> dict[str, int]:
    """Count a Map Run's items by state: `succeeded`, `failed`, `running`, `total` and others."""
    counts: Mapping[str, Any] = stack.stepfunctions.describe_map_run(mapRunArn=arn)["itemCounts"]
    return {name: int(count) for name, count in counts.items()}


def named(stack: Stack, arn: str) -> tuple[str, str] | None:
    """Return the machine, by its output, and the name of an execution of this stack; None for another one's."""
    machine, _, name = arn.replace(":execution:", _MACHINE).rpartition(":")
    output = next((output for output, value in stack.outputs.items() if value == machine), None)
    return (output.removesuffix(_OUTPUT), name) if output else None


def recent(
    stack: Stack,
    among: Sequence[str],
    statuses: Sequence[str] = (),
    before: datetime | None = None,
    since: datetime | None = None,
    parts: Sequence[str] = ("",),
    last: int = 50,
) -> list[Listed]:
    """Return the last executions of some machines, by the time of their last change, newest first.

    statuses: only these; empty for all. before and since: of that time. parts: the name contains
    one of them.
    """
    wanted = [(machine, status) for machine in among for status in statuses or [""]]
    read = partial(_of_one, stack, before=before, since=since, parts=parts, last=last)
    found = mapped(lambda one: read(*one), wanted, _AT_ONCE)
    newest = heapq.merge(*found, key=lambda one: one.changed, reverse=True)
    return list(islice(newest, last))


def _of_one(
    stack: Stack,
    machine: str,
    status: str,
    *,
    before: datetime | None,
    since: datetime | None,
    parts: Sequence[str],
    last: int,
) -> list[Listed]:
    found = (one for one in _listed(stack, machine, status, min(last, _PAGE)) if not before or one.changed < before)
    fits = (one for one in _until(found, since) if any(part in one.name for part in parts))
    return sorted(islice(fits, last), key=lambda one: one.changed, reverse=True)


def _listed(stack: Stack, machine: str, status: str, first: int) -> Iterator[Listed]:
    """Yield executions. first: size of the first page, which is often enough."""
    only: Any = {"statusFilter": status} if status else {}
    arn, size, token = stack.outputs[f"{machine}{_OUTPUT}"], first, None
    while True:
        more: Any = {"nextToken": token} if token else {}
        page = stack.stepfunctions.list_executions(stateMachineArn=arn, maxResults=size, **only, **more)
        for one in page["executions"]:
            yield Listed(machine, one["name"], one["status"], one["startDate"], one.get("stopDate"))
        token, size = page.get("nextToken"), _PAGE
        if not token:
            return


def _until(found: Iterator[Listed], since: datetime | None) -> Iterator[Listed]:
    for one in found:
        if since and one.changed < since:
            return
        yield one
