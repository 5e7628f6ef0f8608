"""Work under leases, as operators see it: which there is, and who decides."""

from idempotency import LeaseOperations, LeaseRecord
from idempotency.saga.state import may_stand_outside
from jobs.handlers import RUN_JOB
from ordering.definition import PROCESS_PAYMENT
from ordering.payments.gateway import CHARGE
from user_import.creation import CREATE_USER

from .errors import CommandError
from .stack import Stack

NAMES = tuple(sorted(work.name for work in (CHARGE, CREATE_USER, RUN_JOB)))


class WorkNotFound(CommandError):
    """There is no such record; the message says what was looked for."""


def operations(stack: Stack) -> LeaseOperations:
    """The leases of a stack."""
    return LeaseOperations(stack.dynamodb, stack.outputs["IdempotencyTable"])


def listed(stack: Stack) -> list[LeaseRecord]:
    """What operators may want to see. A charge of which it is certain that it does not stand is left out."""
    return [record for record in operations(stack).listed() if not _charges_nothing(stack, record)]


def _charges_nothing(stack: Stack, record: LeaseRecord) -> bool:
    order_id, _, work = record.key.rpartition("#")
    if work != CHARGE.name:
        return False
    payment = stack.row("IdempotencyTable", pk=f"{order_id}#{PROCESS_PAYMENT.name}")
    return not may_stand_outside(record.status, payment["status"] if payment else None)


def caller(stack: Stack) -> str:
    """The ARN of whoever gives the command, for the record."""
    return str(stack.client("sts").get_caller_identity()["Arn"])


def record(stack: Stack, key: str, name: str) -> LeaseRecord:
    """The record of one piece of work. Raises WorkNotFound."""
    found = operations(stack).find(key, [name])
    if not found:
        raise WorkNotFound(f"{key} has no record of {name}; known work: {', '.join(NAMES)}")
    return found[0]
