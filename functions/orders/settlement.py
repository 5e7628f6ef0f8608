"""Settles an order once its saga has ended, however it ended.

A catcher sees neither a time-out nor a stop of the execution, nor `States.Runtime`, so the last word is taken from
outside: from the event of its status change, or, if that was lost, from the execution itself.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import Enum
from typing import Any

from idempotency import COMPENSATED, COMPENSATING, StateConflict, Status, StepStore

from .sagas import SagaExecution, Sagas
from .table import CONFIRMED, OrdersTable, UnsettledIndex

STEPS = ("ProcessOrder", "ProcessPayment", "ReserveInventory")

# The lease of ProcessPayment's work outside, if there is a gateway.
CHARGE, PAYMENT = "ChargeCard", "ProcessPayment"
_NOT_CHARGED = frozenset({None, Status.FAILED, Status.RELEASED})

_ENDED = frozenset({"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"})
# An invocation may still be writing when the execution ends in one of these.
_CUT_OFF = frozenset({"ABORTED", "TIMED_OUT"})

_logger = logging.getLogger(__name__)


class Settled(Enum):
    """What settling comes to."""

    YES = "yes"
    """The order is confirmed, or everything is undone, or its recovery has begun."""
    NOT_YET = "not yet"
    """The execution is running, as one that was redriven; its end will be settled."""
    NO = "no"
    """Not by this execution, which says nothing of an order."""


class SweepIncomplete(Exception):
    """Some orders could not be settled; the next sweep tries again. The message names them."""


@dataclass(frozen=True, slots=True)
class Settlement:
    steps: StepStore
    orders: OrdersTable
    sagas: Sagas

    def settle(self, saga: SagaExecution, at: datetime) -> Settled:
        """Confirm the order of a saga that succeeded; otherwise see to it that everything is undone. Idempotent.

        An execution that failed under a name that is not its order_id says nothing of an order: the steps may belong to
        another execution. One that succeeded has all three steps, whatever its name.
        Raises StateConflict if the order's row is not as its steps say, RecoveryEnded if an earlier recovery gave up
        or was cut off, or a TransientError.
        """
        if saga.status not in _ENDED:
            return Settled.NOT_YET
        order_id = _order_id(saga)
        if order_id is None or (saga.status != "SUCCEEDED" and order_id != saga.name):
            _logger.warning("not settled: the input is no order of this name", extra={"order_id": saga.name})
            return Settled.NO
        if saga.status == "SUCCEEDED":
            self._confirm(order_id, saga.document, at)
        elif self._may_need_undoing(saga):
            self.sagas.recover(saga.name, saga.document)
            _logger.warning("recovery started", extra={"order_id": saga.name, "status": saga.status})
        return Settled.YES

    def _confirm(self, order_id: str, document: Any, at: datetime) -> None:
        try:
            self.steps.seal(order_id, STEPS, [self.orders.confirm(order_id, at)], at)
        except StateConflict as conflict:
            if any(refusal.index < len(STEPS) for refusal in conflict.refusals):
                # A stray compensation came first. What it has left must not stand alone.
                self.sagas.recover(order_id, document)
                _logger.warning("recovery started: a step does not stand", extra={"order_id": order_id})
                return
            if not _confirmed_before(conflict):
                raise
        # Also of one that was confirmed before: the line of the call that did it may be lost.
        _logger.info("confirmed", extra={"order_id": order_id})

    def _may_need_undoing(self, saga: SagaExecution) -> bool:
        statuses = self.steps.statuses(saga.name, (*STEPS, CHARGE))
        charge = statuses.pop(CHARGE)
        if saga.status in _CUT_OFF:
            return set(statuses.values()) != {COMPENSATED}
        return may_be_charged(charge, statuses[PAYMENT]) or not set(statuses.values()) <= {None, COMPENSATED}


@dataclass(frozen=True, slots=True)
class Sweep:
    """Makes good for events that were lost: settles what is still New after the saga's longest possible life."""

    settlement: Settlement
    unsettled: UnsettledIndex
    longest_life: timedelta

    def run(self, at: datetime) -> int:
        """Settle all that is due. Returns how many orders were; raises SweepIncomplete if some could not be."""
        due = {order_id: self._settled(order_id, at) for order_id in self.unsettled.before(at - self.longest_life)}
        failed = [order_id for order_id, settled in due.items() if settled is Settled.NO]
        if failed:
            raise SweepIncomplete(f"{len(failed)} of {len(due)}: {_named(failed)}")
        return sum(settled is Settled.YES for settled in due.values())

    def _settled(self, order_id: str, at: datetime) -> Settled:
        try:
            return self.settlement.settle(self.settlement.sagas.execution(order_id), at)
        except Exception:
            _logger.exception("order not settled", extra={"order_id": order_id})
            return Settled.NO


def may_be_charged(charge: str | None, payment: str | None) -> bool:
    """Whether the gateway may hold a charge that the step does not tell of. charge, payment: their records' status."""
    return payment == COMPENSATING or (charge not in _NOT_CHARGED and payment != COMPENSATED)


def _order_id(saga: SagaExecution) -> str | None:
    """The order_id of the input. Read leniently: what an earlier deployment accepted must be settled all the same."""
    order_id = saga.document.get("order_id") if isinstance(saga.document, dict) else None
    return order_id if isinstance(order_id, str) and order_id else None


def _confirmed_before(conflict: StateConflict) -> bool:
    (refusal, *others) = conflict.refusals
    row = refusal.item or {}
    return not others and refusal.index == len(STEPS) and row.get("status") == {"S": CONFIRMED}


def _named(order_ids: Iterable[str], most: int = 10) -> str:
    names = list(order_ids)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
