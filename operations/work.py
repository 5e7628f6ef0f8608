"""Work under leases, for operators."""

from idempotency import LeaseOperations, LeaseRecord
from idempotency.saga.state import may_stand_outside
from jobs.service import RUN_JOB
from ordering.definition import PROCESS_PAYMENT
from ordering.payments.gateway import CHARGE
from user_import.creation import CREATE_USER

from .errors import CommandError
from .stack import Stack

NAMES = tuple(sorted(work.name for work in (CHARGE, CREATE_USER, RUN_JOB)))


class WorkNotFound(CommandError):
    """The record does not exist; the message says which."""


def operations(stack: Stack) -> LeaseOperations:
    """The leases of a stack."""
    return LeaseOperations(stack.dynamodb, stack.outputs["IdempotencyTable"])


def listed(stack: Stack) -> list[LeaseRecord]:
    """Work that may concern operators. Leaves out charges that certainly do not stand."""
    return [record for record in operations(stack).listed() if not _charges_nothing(stack, record)]


def _charges_nothing(stack: Stack, record: LeaseRecord) -> bool:
    order_id, _, work = record.key.rpartition("#")
    if work != CHARGE.name:
        return False
    payment = stack.row("IdempotencyTable", pk=f"{order_id}#{PROCESS_PAYMENT.name}")
    return not may_stand_outside(record.status, payment["status"] if payment else None)


def caller(stack: Stack) -> str:
    """The ARN of the caller, for the audit trail."""
    return str(stack.client("sts").get_caller_identity()["Arn"])


def record(stack: Stack, key: str, name: str) -> LeaseRecord:
    """The record of one piece of work. Raises WorkNotFound."""
    found = operations(stack).find(key, [name])
    if not found:
        raise WorkNotFound(f"{key} has no record of {name}; known work: {', '.join(NAMES)}")
    return found[0]
