"""Finalizes an order once its saga has ended, however it ended.

A catcher sees neither a timeout nor a stop of the execution, nor `States.Runtime` or `States.DataLimitExceeded`. So the
last word comes from outside: from the event of its status change, or, if that was lost, from the execution itself.

An order that did not succeed is done with when every step is compensated or barred. Until then its row names what
stands (`standing`) and stays in the index that the sweep reads.
"""

import logging
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import Enum
from typing import Any

from idempotency import Action, Contention, LeaseStore, StateConflict, Step, StepCompensated, StepStore
from ordering.definition import PENDING, PROCESS_ORDER, PROCESS_PAYMENT, STEP_NAMES, SagaStep, not_confirmed
from ordering.order import InvalidOrder, Order, parse_order

from .sagas import ExecutionNotFound, RecoveryEnded, SagaExecution, Sagas
from .state import OrderReader, OrderState
from .table import OrdersTable, UnsettledIndex

_ENDED = frozenset({"SUCCEEDED", "FAILED", "TIMED_OUT", "ABORTED"})

# Each round lost means that a call wrote between the look and the decision.
_ROUNDS = 4

_logger = logging.getLogger(__name__)


class Finalized(Enum):
    """What finalizing comes to."""

    YES = "yes"
    """The order is confirmed, or everything is undone, or its recovery has begun."""
    NOT_YET = "not yet"
    """The execution is running, as one that was redriven; its end will be finalized."""
    STANDING = "standing"
    """Its recovery has ended, and something still stands: a person is needed."""
    NO = "no"
    """Not by this execution, which says nothing of an order."""


class SweepIncomplete(Exception):
    """Some orders could not be finalized; the next sweep tries again. The message names them."""


@dataclass(frozen=True, slots=True)
class Finalization:
    """leases: bar a charge that has not begun; None where there is no payment gateway.

    lifetime: of a lease's record.
    """

    steps: StepStore
    orders: OrdersTable
    sagas: Sagas
    reader: OrderReader
    lifetime: timedelta
    leases: LeaseStore | None = None

    def finalize(self, saga: SagaExecution, at: datetime) -> Finalized:
        """Confirm the order of a saga that succeeded; otherwise see to it that everything is undone. Idempotent.

        An execution that failed under a name that is not its order_id says nothing of an order: the steps may belong to
        another execution. One that succeeded has all three steps, whatever its name.
        Raises a TransientError, or as the client of Step Functions.
        """
        if saga.status not in _ENDED:
            return Finalized.NOT_YET
        order_id = order_id_of(saga.document)
        if order_id is None or (saga.status != "SUCCEEDED" and order_id != saga.name):
            _logger.warning("not finalized: the input is no order of this name", extra={"order_id": saga.name})
            return Finalized.NO
        if saga.status == "SUCCEEDED":
            return self._confirm(order_id, saga.document, at)
        return self._undo(order_id, saga.document, at)

    def confirm_at_once(self, order_id: str, at: datetime) -> bool:
        """Confirm the order that a saga which succeeded is named after. False if it is not due."""
        try:
            self.steps.seal(order_id, STEP_NAMES, [self.orders.confirm(order_id, at)], at)
        except StateConflict:
            return False
        _logger.info("confirmed", extra={"order_id": order_id})
        return True

    def finalize_recovered(self, document: Any, at: datetime) -> Finalized:
        """Look again at the order of a recovery that has ended. document: the recovery's input. Raises as `review`."""
        order_id = order_id_of(document)
        if order_id is None:
            _logger.warning("not finalized: the recovery's input is no order")
            return Finalized.NO
        return self.review(order_id, at)

    def review(self, order_id: str, at: datetime) -> Finalized:
        """Finalize an order by its own saga, if Step Functions still knows it, else by its rows.

        Raises ExecutionNotFound if the rows do not say that the order has failed, and as `finalize`.
        """
        try:
            saga = self.sagas.execution(order_id)
        except ExecutionNotFound:
            if self.reader.read(order_id).order_status != PENDING:
                raise
            return self._undo(order_id, None, at)
        return self.finalize(saga, at)

    def _confirm(self, order_id: str, document: Any, at: datetime) -> Finalized:
        try:
            self.steps.seal(order_id, STEP_NAMES, [self.orders.confirm(order_id, at)], at)
        except StateConflict:
            state = self.reader.read(order_id)
            if not state.confirmed:
                if state.compensated or not state.all_standing:
                    # A stray compensation came first. What it has left must not stand alone.
                    return self._undo(order_id, document, at)
                self._confirm_by_rows(order_id, state, at)
        # Also of one that was confirmed before: the line of the call that did it may be lost.
        _logger.info("confirmed", extra={"order_id": order_id})
        return Finalized.YES

    def _confirm_by_rows(self, order_id: str, state: OrderState, at: datetime) -> None:
        """Records have expired; the rows have not."""
        checks = [step.stands(self._table(step), order_id) for step in state.lost if step is not PROCESS_ORDER]
        writes = [self.orders.confirm(order_id, at), *checks]
        self.steps.seal(order_id, STEP_NAMES, writes, at, lost=[step.name for step in state.lost])

    def _undo(self, order_id: str, document: Any, at: datetime) -> Finalized:
        """Bar what has not happened, note what stands, and have it recovered. document: None if nobody knows it."""
        order = _order(document)
        for _ in range(_ROUNDS):
            state = self._read(order_id, at)
            if state.confirmed or (state.untouched and order is None):
                return Finalized.YES
            if order is not None:
                adopt_lost(self.steps, self.reader, state, order, document, at)
            standing = state.standing
            try:
                self._bar(order_id, state, order, document, at)
            except StateConflict:
                continue
            return self._recovering(order_id, document, standing) if standing else Finalized.YES
        raise Contention(f"order {order_id} is being written by other calls")

    def _read(self, order_id: str, at: datetime) -> OrderState:
        state = self.reader.read(order_id)
        row = state.rows[PROCESS_ORDER.name]
        if self.leases is None or row is None:
            return state
        return replace(state, charge_forgotten=datetime.fromisoformat(row["created_at"]["S"]) < at - self.lifetime)

    def _bar(self, order_id: str, state: OrderState, order: Order | None, document: Any, at: datetime) -> None:
        """One transaction: the tombstones, the checks that they are due, and what the order's row says of it."""
        barred = state.unbarred
        row = self._note(order_id, state, order, at)
        checks = [
            step.does_not_stand(self._table(step), order_id) for step in barred if step is not PROCESS_ORDER or not row
        ]
        if self.leases and PROCESS_PAYMENT in barred and PROCESS_PAYMENT.outside and state.may_bar_charge:
            error = StepCompensated(f"the saga of order {order_id} has ended; place a new order")
            checks.append(self.leases.bar(PROCESS_PAYMENT.outside, order_id, error))
        if barred or row:
            calls = [_call(step, order_id, document, at) for step in barred]
            self.steps.bar(calls, [*checks, *row])

    def _note(self, order_id: str, state: OrderState, order: Order | None, at: datetime) -> list[Action]:
        """What the order's row is to say: which steps stand. Nothing, if it says so or there is no need of a row."""
        status, standing = state.order_status, state.standing
        if status is None and standing:
            saved = self.orders.save_failed(order, at, standing) if order else None
            return [saved or self.orders.save_unknown(order_id, at, standing)]
        if status is None:
            return []
        row = state.rows[PROCESS_ORDER.name] or {}
        if state.noted == standing and ("unsettled" in row) == bool(standing):
            return []
        return [self.orders.list_standing(order_id, status, at, standing)]

    def _recovering(self, order_id: str, document: Any, standing: Iterable[str]) -> Finalized:
        fields = {"order_id": order_id, "standing": ", ".join(sorted(standing))}
        try:
            if document is None:
                raise RecoveryEnded("nobody knows the order as it was placed")
            self.sagas.recover(order_id, document)
        except RecoveryEnded as error:
            _logger.error("a failed order stands in part", extra={**fields, "reason": str(error)})
            return Finalized.STANDING
        _logger.warning("recovery started", extra=fields)
        return Finalized.YES

    def _table(self, step: SagaStep) -> str:
        return self.reader.tables[step.table]


@dataclass(frozen=True, slots=True)
class Sweep:
    """Makes good for lost events: finalizes what is still in the index after the saga's longest possible life.

    It also looks again at what stands of failed orders, and counts it for the alarm.
    """

    finalization: Finalization
    unsettled: UnsettledIndex
    max_life: timedelta

    def run(self, at: datetime) -> dict[str, int]:
        """Finalize all that is due. Returns how many orders were finalized, and how many stand in part.

        Raises SweepIncomplete if some could not be looked at.
        """
        due = {order_id: self._finalized(order_id, at) for order_id in self.unsettled.before(at - self.max_life)}
        found = list(due.values())
        counts = {"finalized": found.count(Finalized.YES), "standing": found.count(Finalized.STANDING)}
        # The alarm's metric is made from this line, also when there is nothing to count.
        _logger.info("swept", extra=counts)
        failed = [order_id for order_id, finalized in due.items() if finalized is Finalized.NO]
        if failed:
            raise SweepIncomplete(f"{len(failed)} of {len(due)}: {_named(failed)}")
        return counts

    def _finalized(self, order_id: str, at: datetime) -> Finalized:
        try:
            return self.finalization.review(order_id, at)
        except Exception:
            _logger.exception("order not finalized", extra={"order_id": order_id})
            return Finalized.NO


def adopt_lost(
    steps: StepStore, reader: OrderReader, state: OrderState, order: Order, document: Any, at: datetime
) -> None:
    """Write the lost record of each step whose row is this very order's, so that its compensation can undo it.

    document: the order as it was placed. A row that another order made is left alone, and logged.
    """
    for step in state.lost:
        table = reader.tables[step.table]
        checks = [] if step is PROCESS_ORDER else [not_confirmed(reader.tables[PROCESS_ORDER.table], order.order_id)]
        stands = step.stands(table, order.order_id, order)
        try:
            steps.commit(_call(step, order.order_id, document, at), [stands, *checks], {"adopted": True})
            _logger.warning("a lost record is restored", extra={"order_id": order.order_id, "step": step.name})
        except StateConflict:
            _logger.error("a row is not this order's", extra={"order_id": order.order_id, "step": step.name})


def _call(step: SagaStep, order_id: str, document: Any, at: datetime) -> Step:
    return Step(order_id, step.name, document, "finalization", at.astimezone(UTC))


def _order(document: Any) -> Order | None:
    """The order, if this version of the code would accept it."""
    try:
        return parse_order(document)
    except InvalidOrder:
        return None


def order_id_of(document: Any) -> str | None:
    """The order_id of an input. Read leniently: what an earlier deployment accepted must be finalized all the same."""
    order_id = document.get("order_id") if isinstance(document, dict) else None
    return order_id if isinstance(order_id, str) and order_id else None


def _named(order_ids: Iterable[str], most: int = 10) -> str:
    names = list(order_ids)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
