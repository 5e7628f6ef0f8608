"""Mutants of payments through a gateway, and of the gateway."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any

from tests.faults import history_invariants as breaks
from tests.faults.engine import Engine
from tests.faults.mutant import BY_GATEWAY, mutant, replaced


def _compensating(compensate: Callable[..., Any]) -> AbstractContextManager[None]:
    """Reorder the outside and DynamoDB effects of a compensation."""
    from idempotency.steps import StepStore

    def otherwise(self: Any, step: Any, *, undo: Any, absence: Any, outside: Any = None, stands: Any = ()) -> Any:
        if outside is None:
            return self._compensate(step, undo, absence)
        bar = partial(self._bar, step, stands, absence)
        return compensate(self, step, outside, lambda: self._compensate(step, undo, absence), bar)

    return replaced(StepStore, "compensate", otherwise)


@mutant(
    "a cancel before the step is barred",
    breaks.FINAL,
    breaks.PAID,
    breaks.CHARGED,
    orders=BY_GATEWAY,
)
def _cancel_first(_: Engine) -> AbstractContextManager[None]:
    """A stray call refunds a confirmed order, and only then fails."""

    def compensate(_self: Any, _step: Any, outside: Any, record: Any, _bar: Any) -> Any:
        outside()
        return record()

    return _compensating(compensate)


@mutant(
    "a compensation that is recorded before the cancel",
    breaks.PAID,
    orders=["out of stock by gateway"],
    at="ProcessRefund#",
)
def _record_first(_: Engine) -> AbstractContextManager[None]:
    """A crash in between leaves the charge, and nothing retries the cancel."""

    def compensate(self: Any, step: Any, outside: Any, record: Any, bar: Any) -> Any:
        standing = bar()
        if not isinstance(standing, bool):
            return self._compensated_before(step, standing)
        answer = record()
        outside()
        return answer

    return _compensating(compensate)


@mutant(
    "a cancel only of what a record says is captured",
    breaks.PAID,
    breaks.KNOWN,
    orders=BY_GATEWAY,
)
def _cancel_what_is_recorded(_: Engine) -> AbstractContextManager[None]:
    """Leave a charge whose record was never written in effect forever."""

    def compensate(self: Any, step: Any, outside: Any, record: Any, bar: Any) -> Any:
        happened = bar()
        if not isinstance(happened, bool):
            return self._compensated_before(step, happened)
        if happened:
            outside()
        return record()

    return _compensating(compensate)


@mutant(
    "a payment that is recorded before it is charged",
    breaks.REFUSED,
    breaks.PAID,
    orders=["declined by gateway"],
    at="ProcessPayment",
)
def _charge_last(_: Engine) -> AbstractContextManager[None]:
    """A crash in between leaves a payment that was never charged."""
    from dataclasses import replace

    from ordering import payments
    from ordering.payments import Payments

    process = Payments.process

    def recorded_first(self: Any, task: Any) -> Any:
        if self.gateway is None:
            return process(self, task)
        with replaced(payments, "authorize", lambda _: None):
            result = process(replace(self, gateway=None), task)
        self._charge(task)
        return result

    return replaced(Payments, "process", recorded_first)


@mutant("a charge that is repeated and not asked for, where keys mean nothing", breaks.CHARGE, orders=BY_GATEWAY)
def _no_question(_: Engine) -> AbstractContextManager[None]:
    """A lost response makes the customer pay twice."""
    from ordering.gateway import HttpGateway
    from stepwise.local.simulators.payment_gateway.ledger import SUCCEEDED, Ledger

    accept = Ledger.accept

    def charge_again(self: Any, key: str, request: Any) -> Any:
        known = accept(self, key, request)
        if known and known.status == SUCCEEDED:
            self._move("capture", key, request.currency, request.amount)
        return known

    @contextmanager
    def both() -> Iterator[None]:
        with replaced(HttpGateway, "_find", lambda *_: None), replaced(Ledger, "accept", charge_again):
            yield

    return both()


@mutant("an answer to another request that is believed", breaks.REFUSED, breaks.PAID, orders=BY_GATEWAY)
def _any_answer(_: Engine) -> AbstractContextManager[None]:
    """A decline or a cancel of another key is taken for the order's own."""
    from runtime.keyed import Answer

    return replaced(Answer, "bound", True)


@mutant("a cancel that is not remembered for a key that is not known", breaks.PAID, orders=BY_GATEWAY)
def _forgetful_gateway(_: Engine) -> AbstractContextManager[None]:
    """As with most processors, a delayed charge lands after the order was undone."""
    from stepwise.local.simulators.payment_gateway.ledger import CANCELED, Charge, Ledger

    cancel = Ledger.cancel

    def only_if_known(self: Any, key: str) -> Any:
        return cancel(self, key) if self.lookup(key) else Charge(key, CANCELED)

    return replaced(Ledger, "cancel", only_if_known)
