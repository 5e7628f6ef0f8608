"""The time that deployed code sees: the real one, plus every wait that the explorer skips."""

import types
from collections.abc import Callable
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from ministack.services import stepfunctions

import idempotency.leases
import idempotency.operators
import idempotency.saga.sweep
import runtime.backoff
import runtime.handler
import stepwise.operations.recovery
from tests.kit.engines.in_process import replace


class Clock:
    """The offset from real time."""

    def __init__(self) -> None:
        self._ahead = timedelta(0)

    def move(self, seconds: float) -> None:
        self._ahead += timedelta(seconds=seconds)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def reset(self) -> None:
        self._ahead = timedelta(0)

    def take_hold(self) -> None:
        """Patch the loaded modules to use this time, and let Retry and leases advance it instead of waiting."""
        present = _present(lambda: self._ahead)
        modules = (
            runtime.backoff,
            idempotency.leases,
            idempotency.operators,
            stepwise.operations.recovery,
            runtime.handler,
        )
        for module in modules:
            replace(module, "datetime", present)
        replace(stepfunctions, "_scaled_sleep", self.move)
        replace(runtime.backoff, "time", types.SimpleNamespace(sleep=self.move))
        replace(runtime.backoff, "random", types.SimpleNamespace(uniform=lambda _, most: most / 2))
        replace(idempotency.saga.sweep, "random", types.SimpleNamespace(shuffle=lambda _: None))
        defaults: Any = idempotency.leases.LeaseStore.__init__.__kwdefaults__
        assert "sleep" in defaults
        # In fewer steps than a lease would take, because each step is a call.
        defaults["sleep"] = lambda seconds: self.move(max(seconds, 2))


def _present(ahead: Callable[[], timedelta]) -> type[datetime]:
    class Present(datetime):
        @classmethod
        def now(cls, tz: tzinfo | None = None) -> Any:
            return datetime.now(tz) + ahead()

    return Present
