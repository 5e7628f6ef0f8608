"""Work under leases, for operators."""

from datetime import UTC, datetime, timedelta
from typing import Any

from accounts.definition import ACCOUNT_SETUP
from accounts.processor import CREATE as CREATE_CARD
from api.once import WORK as HTTP_REQUEST
from idempotency import LeaseOperations, LeaseRecord, Status
from idempotency.saga.state import may_stand_outside
from imports.requests import START_IMPORT
from jobs.running import RUN_JOB
from ordering.definition import ORDER_SAGA
from ordering.gateway import CHARGE
from runtime.json_documents import NotJson, parse_json
from tasks.requests import RUN_TASK
from user_import.creation import CREATE_USER

from .caller import caller as caller
from .errors import CommandError
from .stack import Stack

JOB = RUN_JOB.name
NAMES = tuple(sorted(work.name for work in (CHARGE, CREATE_CARD, CREATE_USER, RUN_JOB, RUN_TASK, START_IMPORT)))

# The step that works outside DynamoDB, by the work's name.
_STEPS = {step.outside: step.name for saga in (ORDER_SAGA, ACCOUNT_SETUP) for step in saga.leases}
# Parameters of the stack: a decision is kept as long as the records of any kind of work.
_LIFETIMES, _DEFAULT_DAYS = ("RecordLifetimeDays", "TaskLifetimeDays"), 90


class WorkNotFound(CommandError):
    """The record does not exist; the message says which."""


class InvalidOutcome(CommandError):
    """The outcome of work is neither JSON nor NAME:MESSAGE of an error."""


def operations(stack: Stack) -> LeaseOperations:
    """Return the leases of a stack."""
    days = max(int(stack.parameters.get(name, _DEFAULT_DAYS)) for name in _LIFETIMES)
    return LeaseOperations(stack.dynamodb, stack.outputs["IdempotencyTable"], lifetime=timedelta(days=days))


def listed(stack: Stack) -> list[LeaseRecord]:
    """Return work that operators may have to look at, without charges and cards that certainly do not stand."""
    return [record for record in operations(stack).listed() if not _needs_nobody(stack, record)]


def is_undecided(stack: Stack, record: LeaseRecord) -> bool:
    """True if the outcome is unknown, and an operator may have to find it out."""
    crashed = record.status is Status.IN_PROGRESS and record.lease_until < datetime.now(UTC)
    return (crashed or record.status in (Status.HELD, Status.UNKNOWN)) and not _needs_nobody(stack, record)


def _needs_nobody(stack: Stack, record: LeaseRecord) -> bool:
    saga_id, _, work = record.key.rpartition("#")
    if work == HTTP_REQUEST.name:
        # Everything that a request starts is named after its Idempotency-Key, and is listed separately.
        return True
    if work not in _STEPS:
        return False
    step = stack.row("IdempotencyTable", pk=f"{saga_id}#{_STEPS[work]}")
    return not may_stand_outside(record.status, step["status"] if step else None)


def known(record: LeaseRecord) -> str:
    """Describe the known outcome of work, in a line."""
    if record.error:
        return ": ".join(record.error)
    if record.status is Status.IN_PROGRESS:
        return f"lease until {record.lease_until.isoformat(timespec='seconds')}"
    return record.result or ""


def record(stack: Stack, key: str, name: str) -> LeaseRecord:
    """Return the record of one piece of work. Raises WorkNotFound."""
    found = operations(stack).find(key, [name])
    if not found:
        raise WorkNotFound(f"{key} has no record of {name}; known work: {', '.join(NAMES)}")
    return found[0]


def parse_result(text: str) -> Any:
    """Read the result of work, as JSON. Raises InvalidOutcome."""
    try:
        return parse_json(text)
    except NotJson as error:
        raise InvalidOutcome(str(error)) from None


def parse_error(text: str) -> tuple[str, str]:
    """Read `NAME:MESSAGE`, the class name and the sentence of an error that duplicates get. Raises InvalidOutcome."""
    name, _, message = text.partition(":")
    if not (name.isidentifier() and message.strip()):
        raise InvalidOutcome("give NAME:MESSAGE, such as 'PaymentDeclined: the card was declined'")
    return name, message.strip()
