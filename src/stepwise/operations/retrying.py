"""States of running executions that fail and are retried: which, why, how often, and when the next try is due."""

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from .causes import Cause
from .executions import RUNNING, Execution
from .stack import Stack
from .state_visits import StateVisit

_OFTEN = 2
# Errors that no wait cures: a permission, a resource that is gone, a configuration.
_LASTING = re.compile(
    r"\b(AccessDenied\w*|Unauthorized\w*|NotAuthorized\w*|UnrecognizedClient\w*|InvalidClientTokenId|ExpiredToken\w*"
    r"|ResourceNotFound\w*|NoSuchBucket|QueueDoesNotExist|NotFoundException|KMS\w*|InvalidEnvironment|ValidationException)\b"
)


@dataclass(frozen=True, slots=True)
class Retrying:
    """A failing state. state: its name. cause: its last error. next_by: when its next try begins at the latest."""

    state: str
    cause: Cause
    since: datetime
    next_by: datetime


def retrying(stack: Stack, machine: str, execution: Execution) -> Retrying | None:
    """Return the state that a running execution retries, from its second failure on; at once if no wait helps.

    machine: the logical id of its state machine.
    """
    if execution.status != RUNNING:
        return None
    for visit in reversed(execution.states):
        if visit.failed and not visit.ended and visit.cause:
            cause, next_by = visit.cause, _next_by(stack, machine, visit)
            if next_by is None:
                continue
            if cause.times >= _OFTEN or _LASTING.search(f"{cause.error} {cause.message}"):
                return Retrying(visit.name, cause, visit.entered, next_by)
    return None


def _next_by(stack: Stack, machine: str, visit: StateVisit) -> datetime | None:
    """Return when the next try is due; None if the state's definition does not retry the error, or no longer."""
    definition = json.loads(
        stack.stepfunctions.describe_state_machine(stateMachineArn=stack.outputs[f"{machine}Arn"])["definition"]
    )
    retriers: list[Any] = next(
        (state.get("Retry", []) for name, state in _states(definition) if name == visit.name), []
    )
    for retrier in retriers:
        if {visit.errors[-1], "States.ALL"} & set(retrier["ErrorEquals"]):
            if len(visit.errors) > retrier.get("MaxAttempts", 3):
                return None
            # Jitter only shortens it.
            pause = retrier.get("IntervalSeconds", 1) * retrier.get("BackoffRate", 2) ** min(len(visit.errors) - 1, 30)
            return visit.exited + timedelta(seconds=min(pause, retrier.get("MaxDelaySeconds", pause)))
    return None


def _states(machine: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """Yield every state, including those inside Parallel and Map."""
    for name, state in machine["States"].items():
        yield name, state
        inner = [*state.get("Branches", []), *(state[part] for part in ("ItemProcessor", "Iterator") if part in state)]
        for one in inner:
            yield from _states(one)
