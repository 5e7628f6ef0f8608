"""The audit of orders by command, and the findings of the sweeps' audits."""

import json
from collections.abc import Iterator
from datetime import datetime

from ordering.audit import Audit, Contradiction

from .order_list import ids
from .stack import Stack


def contradictions(stack: Stack, since: datetime) -> Iterator[Contradiction]:
    """Yield confirmed orders since then that lack the effect of a step, and all effects without an order.

    Raises StoreUnavailable if DynamoDB throttles too long.
    """
    audit = audit_of(stack)
    yield from audit.of_orders(ids(stack, since))
    yield from audit.of_all()


def noted(stack: Stack) -> list[Contradiction]:
    """Return the sweeps' findings that still hold. Raises as `contradictions`."""
    return audit_of(stack).noted()


def audit_of(stack: Stack) -> Audit:
    """Return the audit of a stack's tables."""
    # The tables of added steps are in the output `StepTables` alone.
    tables = {**json.loads(stack.outputs["StepTables"]), **stack.outputs}
    return Audit(stack.dynamodb, tables, stack.outputs["IdempotencyTable"])
