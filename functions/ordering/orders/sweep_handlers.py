"""Lambda handler of the sweep, which finalizes orders whose end event was lost, and audits some of the others."""

from functools import cache

from idempotency.saga.sweep import Sweep
from runtime import finalization as made
from runtime.handler import Call, handler, unread

from .audit import Audit
from .finalization_handlers import finalization

# Reserved for the audit: a page of each kind takes at most six calls.
_MILLISECONDS_FOR_A_PAGE = 30_000

Environment = made.SweepEnvironment


@cache
def sweep() -> Sweep:
    environment = Environment()
    return made.sweep(finalization(), environment)


@handler(unread)
def sweep_orders(_: None, call: Call) -> dict[str, int]:
    """Finalize the orders whose event was lost, count those with standing steps, and audit some of all orders."""
    orders = sweep()
    reader = orders.finalization.reader
    try:
        return orders.run(call.at, lambda: made.has_time(call))
    finally:
        audit = Audit(reader.client, reader.tables, reader.records)
        audit.sweep(lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_PAGE)
