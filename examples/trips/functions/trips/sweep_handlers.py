"""Lambda handler of the sweep, which finalizes trips whose status event was lost."""

from functools import cache

from idempotency.saga.sweep import Sweep
from runtime import finalization as factory
from runtime.handler import Call, handler, unread

from .finalization_handlers import finalization

Environment = factory.SweepEnvironment


@cache
def sweep() -> Sweep:
    environment = Environment()
    return factory.sweep(finalization(), environment)


@handler(unread)
def sweep_trips(_: None, call: Call) -> dict[str, int]:
    """Finalize the trips whose event was lost, and count those that are not completely undone."""
    return sweep().run(call.at, lambda: factory.has_time(call))
