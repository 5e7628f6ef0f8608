"""Lambda handler of the sweep, which finalizes orders whose saga's last event was lost."""

from functools import cache

from idempotency.saga.sweep import Sweep
from runtime import finalization as made
from runtime.handler import Call, handler, unread

from .finalization_handlers import finalization

Environment = made.SweepEnvironment


@cache
def sweep() -> Sweep:
    environment = Environment()
    return made.sweep(finalization(), environment)


@handler(unread)
def sweep_orders(_: None, call: Call) -> dict[str, int]:
    """Finalize the orders whose event was lost, and count the orders with standing steps."""
    return sweep().run(call.at, lambda: made.has_time(call))
