"""Orders of which something still stands after a compensation gave up, or while it fails again and again.

Also orders that contradict their payments or reservations, as the sweeps find them.
"""

from collections.abc import Iterator

from stepwise.operations import audit, recovery
from stepwise.operations.errors import Word
from stepwise.operations.executions import RUNNING
from stepwise.operations.stack import Stack

from .concern import Concern


def concerns(stack: Stack, _name: str) -> Iterator[Concern]:
    for one in recovery.failing(stack):
        since = one.retrying.since.isoformat() if one.retrying else ""
        state = "in effect" if one.retrying and one.saga == RUNNING else "not undone"
        problem = f"{', '.join(one.standing)} {state}{_amount(stack, one.saga_id)}; saga {one.problem}"
        document: list[Word] = [("--file", "ORDER.json")] if one.document_lost else []
        see = ("show", one.saga_id) if one.row_edited or one.retrying else ("recover", one.saga_id, *document)
        yield Concern("orders", one.saga_id, problem, str(one.cause or ""), see, since)
    cause = "a row was deleted, edited or restored without the others; put it back (docs/deploy.md, Put back one row)"
    for lost in audit.noted(stack):
        yield Concern("orders", lost.order_id, lost.problem, cause, ("show", lost.order_id))


def _amount(stack: Stack, order_id: str) -> str:
    """The money that is captured, if any."""
    payment = stack.row("PaymentsTable", order_id=order_id)
    if payment is None or payment.get("status") != "Captured" or "amount" not in payment:
        return ""
    return f" ({int(payment['amount']):,} {payment['currency']} captured)"
