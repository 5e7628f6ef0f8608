"""The audit of orders by command, and the findings of the sweeps' audits."""

import json
from collections.abc import Iterator
from datetime import datetime
from itertools import batched

from idempotency.dynamodb import read_rows
from idempotency.saga.state import SagaReader
from ordering.audit import Audit, Contradiction
from ordering.definition import ORDER_SAGA

from . import runs
from .executions import SUCCEEDED
from .order_list import ids, order_of
from .stack import Stack

_OUTPUT = f"{ORDER_SAGA.machine}Arn"
_AT_ONCE = 100
_LOST = "its saga succeeded, but a restore has lost the order; recover refunds its charge at a gateway"


def contradictions(stack: Stack, since: datetime) -> Iterator[Contradiction]:
    """Yield confirmed orders since a time that lack the effect of a step, and all effects without an order.

    Also yields orders since that time that exist only as executions, until they are recovered.
    Raises StoreUnavailable if DynamoDB throttles for too long.
    """
    audit = audit_of(stack)
    yield from audit.of_orders(ids(stack, since))
    yield from audit.of_all()
    reader, first = SagaReader(ORDER_SAGA, audit.client, audit.tables, audit.records), ORDER_SAGA.first
    for names in batched(runs.names(stack, _OUTPUT, SUCCEEDED, since), _AT_ONCE, strict=False):
        rows = read_rows(stack.dynamodb, [(reader.table(first), first.row_key(name)) for name in names])
        for name in (name for name, row in zip(names, rows, strict=True) if row is None):
            order_id = order_of(runs.find(stack, _OUTPUT, name))
            if reader.read(order_id).untouched:
                yield Contradiction(order_id, _LOST, first.table)


def noted(stack: Stack) -> list[Contradiction]:
    """Return the sweeps' findings that still hold. Raises as `contradictions`."""
    return audit_of(stack).noted()


def audit_of(stack: Stack) -> Audit:
    """Return the audit of a stack's tables."""
    # The tables of added steps are in the output `StepTables` alone.
    tables = {**json.loads(stack.outputs["StepTables"]), **stack.outputs}
    return Audit(stack.dynamodb, tables, stack.outputs["IdempotencyTable"])
