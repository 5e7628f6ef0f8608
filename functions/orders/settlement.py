"""Settles an order once its saga has ended, however it ended.

A catcher sees neither a time-out nor a stop of the execution, nor `States.Runtime`, so the last word is taken from
outside: from the event of its status change, or, if that was lost, from the execution itself.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from idempotency import COMPENSATED, COMPENSATING, StateConflict, Status, StepStore

from .sagas import SagaEnd, Sagas
from .table import CONFIRMED, OrdersTable, UnsettledIndex

STEPS = ("ProcessOrder", "ProcessPayment", "ReserveInventory")

# The lease of ProcessPayment's work outside, if there is a gateway.
CHARGE, PAYMENT = "ChargeCard", "ProcessPayment"
_NOT_CHARGED = frozenset({None, Status.FAILED, Status.RELEASED})

_ENDED = frozenset({"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"})
# An invocation may still be writing when the execution ends in one of these.
_CUT_OFF = frozenset({"ABORTED", "TIMED_OUT"})

_logger = logging.getLogger(__name__)


class SweepIncomplete(Exception):
    """Some orders could not be settled; the next sweep tries again. The message names them."""


@dataclass(frozen=True, slots=True)
class Settlement:
    steps: StepStore
    orders: OrdersTable
    sagas: Sagas

    def settle(self, end: SagaEnd, at: datetime) -> bool:
        """Confirm the order of a saga that succeeded; otherwise see to it that everything is undone. Idempotent.

        Returns False for an execution that says nothing of an order: it failed under a name that is not its order_id,
        so the steps may belong to another execution. One that succeeded has all three steps, whatever its name.
        Raises StateConflict if the order's row is not as its steps say, RecoveryEnded if an earlier recovery gave up
        or was cut off, or a TransientError.
        """
        if end.status not in _ENDED:
            return True
        order_id = _order_id(end)
        if order_id is None or (end.status != "SUCCEEDED" and order_id != end.name):
            _logger.warning("not settled: the input is no order of this name", extra={"order_id": end.name})
            return False
        if end.status == "SUCCEEDED":
            self._confirm(order_id, end.document, at)
        elif self._may_need_undoing(end):
            self.sagas.recover(end.name, end.document)
            _logger.warning("recovery started", extra={"order_id": end.name, "status": end.status})
        return True

    def _confirm(self, order_id: str, document: Any, at: datetime) -> None:
        try:
            self.steps.seal(order_id, STEPS, [self.orders.confirm(order_id, at)], at)
        except StateConflict as conflict:
            if any(refusal.index < len(STEPS) for refusal in conflict.refusals):
                # A stray compensation came first. What it has left must not stand alone.
                self.sagas.recover(order_id, document)
                _logger.warning("recovery started: a step does not stand", extra={"order_id": order_id})
            elif not _confirmed_before(conflict):
                raise

    def _may_need_undoing(self, end: SagaEnd) -> bool:
        statuses = self.steps.statuses(end.name, (*STEPS, CHARGE))
        charge = statuses.pop(CHARGE)
        if end.status in _CUT_OFF:
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
        due = list(self.unsettled.before(at - self.longest_life))
        failed = [order_id for order_id in due if not self._settled(order_id, at)]
        if failed:
            raise SweepIncomplete(f"{len(failed)} of {len(due)}: {_named(failed)}")
        return len(due)

    def _settled(self, order_id: str, at: datetime) -> bool:
        try:
            return self.settlement.settle(self.settlement.sagas.end(order_id), at)
        except Exception:
            _logger.exception("order not settled", extra={"order_id": order_id})
            return False


def may_be_charged(charge: str | None, payment: str | None) -> bool:
    """Whether the gateway may hold a charge that the step does not tell of. charge, payment: their records' status."""
    return payment == COMPENSATING or (charge not in _NOT_CHARGED and payment != COMPENSATED)


def _order_id(end: SagaEnd) -> str | None:
    """The order_id of the input. Read leniently: what an earlier deployment accepted must be settled all the same."""
    order_id = end.document.get("order_id") if isinstance(end.document, dict) else None
    return order_id if isinstance(order_id, str) and order_id else None


def _confirmed_before(conflict: StateConflict) -> bool:
    (refusal, *others) = conflict.refusals
    row = refusal.item or {}
    return not others and refusal.index == len(STEPS) and row.get("status") == {"S": CONFIRMED}


def _named(order_ids: Iterable[str], most: int = 10) -> str:
    names = list(order_ids)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
