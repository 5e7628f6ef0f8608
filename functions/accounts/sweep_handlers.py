"""Lambda handler of the sweep, which finalizes the setups whose saga's last event was lost."""

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
def sweep_accounts(_: None, call: Call) -> dict[str, int]:
    """Finalize the setups whose event was lost, and count those of which something stands."""
    return sweep().run(call.at, lambda: made.has_time(call))
