"""Lambda handler of the sweep, which finalizes orders whose saga's last event was lost, and audits some of the rest."""

from functools import cache

from idempotency.saga.sweep import Sweep
from runtime import finalization as made
from runtime.handler import Call, handler, unread

from .audit import Audit
from .finalization_handlers import finalization

# Of the audit: a page of each kind takes six calls, at most.
_MILLISECONDS_FOR_A_PAGE = 30_000

Environment = made.SweepEnvironment


@cache
def sweep() -> Sweep:
    environment = Environment()
    return made.sweep(finalization(), environment)


@handler(unread)
def sweep_orders(_: None, call: Call) -> dict[str, int]:
    """Finalize the orders whose event was lost, and count the orders with standing steps. Audit some of all orders."""
    orders = sweep()
    reader = orders.finalization.reader
    try:
        return orders.run(call.at, lambda: made.has_time(call))
    finally:
        audit = Audit(reader.client, reader.tables, reader.records)
        audit.sweep(lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_PAGE)
