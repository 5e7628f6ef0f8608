"""Lambda handler of the sweep, which finalizes orders whose saga's last event was lost."""

from dataclasses import dataclass
from functools import cache

from idempotency.saga.sweep import Sweep
from runtime import finalization as made
from runtime.environment import read_environment
from runtime.handler import Call, handler, unread

from . import finalization_handlers
from .finalization_handlers import finalization


@dataclass(frozen=True, slots=True)
class Environment(finalization_handlers.Environment):
    """finalize_after_seconds: the age by which an order's saga must have ended."""

    finalize_after_seconds: int


@cache
def sweep() -> Sweep:
    environment = read_environment(Environment)
    return made.sweep(finalization(), environment.finalize_after_seconds)


@handler(unread)
def sweep_orders(_: None, call: Call) -> dict[str, int]:
    """Finalize the orders whose event was lost, and count the orders with standing steps."""
    return sweep().run(call.at)
