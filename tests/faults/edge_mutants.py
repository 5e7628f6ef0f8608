"""Mutants at the edges of an order's life: past defects, from before these edges were explored."""

from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Any

from tests.faults import edges as e
from tests.faults import faults as f
from tests.faults import history_invariants as breaks
from tests.faults import losing
from tests.faults.engine import Engine
from tests.faults.mutant import mutant, replaced


@mutant(
    "a compensation that cancels before it asks the rows",
    breaks.REFUSED,
    breaks.FINAL,
    orders=["out of stock by gateway"],
    edges=[e.DELETED],
    at="ProcessPayment",
)
def _bar_without_rows(_: Engine) -> AbstractContextManager[None]:
    """Without a record, the compensation refunds the money and then raises StateConflict."""
    from idempotency.steps import COMPENSATING, StepStore

    write_by_record = StepStore._write_by_record

    def unchecked(self: Any, step: Any, if_happened: Sequence[Any], if_never: Sequence[Any]) -> Any:
        values = if_happened[0]["Update"]["ExpressionAttributeValues"]
        bars = values.get(":status") == {"S": COMPENSATING}
        return write_by_record(self, step, if_happened[:1] if bars else if_happened, if_never[:1] if bars else if_never)

    return replaced(StepStore, "_write_by_record", unchecked)


@mutant(
    "a charge before the rows are asked",
    breaks.REFUSED,
    breaks.CHARGE,
    orders=["ok by gateway"],
    edges=[e.PLACED_AGAIN],
    at=e.NOTHING,
    inside="ProcessPayment",
)
def _charge_without_rows(_: Engine) -> AbstractContextManager[None]:
    """If record and lease are gone and the gateway has forgotten the key, a stray call charges a second time."""
    from idempotency.steps import StepStore

    return replaced(StepStore, "find", lambda *_, **__: None)


@mutant(
    "an interrupted compensation bars all other payloads",
    breaks.NEEDLESS,
    breaks.CHARGED,
    breaks.MONEY,
    breaks.LISTED,
    orders=["out of stock by gateway"],
    edges=[e.FOREIGN],
    at="ProcessRefund",
    inside="stray.ProcessRefund#1.call",
)
def _foreign_bar(_: Engine) -> AbstractContextManager[None]:
    """Only the payload that began to bar a step can finish it."""
    from idempotency import steps
    from idempotency.steps import StepStore

    by_the_same = steps._NEVER_HAPPENED + " AND #payload_hash = :spelled"
    tombstone = StepStore._tombstone

    def of_one_payload(self: Any, step: Any, result: Any) -> Any:
        action: Any = tombstone(self, step, result)
        put = action["Put"]
        put["ExpressionAttributeNames"] = {**put["ExpressionAttributeNames"], "#payload_hash": "payload_hash"}
        put["ExpressionAttributeValues"] = {
            **put["ExpressionAttributeValues"],
            ":spelled": {"S": steps.PayloadHash.of(step.payload).spelled},
        }
        return action

    @contextmanager
    def both() -> Iterator[None]:
        with replaced(steps, "_NEVER_HAPPENED", by_the_same), replaced(StepStore, "_tombstone", of_one_payload):
            yield

    return both()


@mutant(
    "a recovery by command that ignores its file",
    breaks.MONEY,
    breaks.CONFIRMED,
    breaks.CHARGED,
    breaks.FINALIZED,
    orders=["not an order", "ok"],
    edges=[e.FOREIGN],
)
def _ignored_file(_: Engine) -> AbstractContextManager[None]:
    """The recovery ignores the right document and uses the saga's own input."""
    import stepwise.operations.recovery
    from stepwise.operations.orders import view
    from tests.faults import operators

    recover = stepwise.operations.recovery.recover

    def by_execution(stack: Any, order_id: str, document: Any = None, **options: Any) -> str:
        return recover(stack, order_id, None if view(stack, order_id).execution else document, **options)

    @contextmanager
    def both() -> Iterator[None]:
        with (
            replaced(operators, "recover", by_execution),
            replaced(stepwise.operations.recovery, "_require_the_order", lambda *_: None),
        ):
            yield

    return both()


@mutant(
    "a finalization that bars only what was called",
    breaks.MONEY,
    breaks.CONFIRMED,
    breaks.LISTED,
    orders=["declined"],
    edges=[f.STRAY],
    at="ReserveInventory",
)
def _unbarred(_: Engine) -> AbstractContextManager[None]:
    """A late call of a step that the saga never reached lands under a failed order."""
    from idempotency.saga import SagaSteps
    from idempotency.saga.state import SagaState
    from idempotency.steps import StepStore

    @contextmanager
    def all_three() -> Iterator[None]:
        # The order's row and its first step would refuse the late call by themselves.
        with (
            replaced(SagaState, "unbarred", ()),
            replaced(SagaSteps, "_undecided", lambda *_: []),
            replaced(StepStore, "_not_compensated", lambda *_: []),
        ):
            yield

    return all_three()


@mutant(
    "an order that leaves the index while something stands",
    breaks.LISTED,
    orders=["out of stock"],
    at="ProcessRefund",
)
def _forgotten_standing(_: Engine) -> AbstractContextManager[None]:
    """The order is Pending although the refund gave up, and nothing lists it."""
    from idempotency.saga.finalization import Finalization
    from idempotency.saga.table import SagaTable

    def fail(self: Any, saga_id: str, at: Any) -> Any:
        expression = "SET #status = :status, updated_at = :at REMOVE unsettled"
        return self.update(saga_id, expression, self.saga.undecided, at, {":status": {"S": self.saga.failed}})

    @contextmanager
    def both() -> Iterator[None]:
        with replaced(SagaTable, "fail", fail), replaced(Finalization, "_note", lambda *_: []):
            yield

    return both()


@mutant(
    "a sweep that counts nothing",
    breaks.LISTED,
    orders=["out of stock"],
    at="ProcessRefund",
)
def _silent_sweep(_: Engine) -> AbstractContextManager[None]:
    """Name the steps in effect in the row, but raise no alarm."""
    from idempotency.saga.finalization import Finalization, Finalized

    finalize = Finalization.finalize

    def never_standing(self: Any, saga: Any, at: Any) -> Any:
        found = finalize(self, saga, at)
        return Finalized.YES if found is Finalized.STANDING else found

    return replaced(Finalization, "finalize", never_standing)


@mutant(
    "a success that is not final",
    breaks.FINAL,
    orders=["ok"],
    edges=[f.STRAY],
    at="ProcessRefund",
)
def _not_final(_: Engine) -> AbstractContextManager[None]:
    """Neither a seal on the records nor the order's row keeps a stray call from undoing a confirmed order."""
    from idempotency.saga import SagaSteps
    from idempotency.steps import COMMITTED, StepStore

    def unsealed(self: Any, saga_id: str, name: str, _: Any) -> Any:
        return self._check(f"{saga_id}#{name}", "#status = :committed", committed=COMMITTED)

    @contextmanager
    def both() -> Iterator[None]:
        with replaced(SagaSteps, "_unconfirmed", lambda *_: []), replaced(StepStore, "_sealed", unsealed):
            yield

    return both()


@mutant("an audit that skips a table", losing.AUDITED, orders=["ok"], edges=[e.ROW_LOST], at="ReserveInventory")
def _audit_of_payments(_: Engine) -> AbstractContextManager[None]:
    """The audit compares confirmed orders only with their payments."""
    from ordering import audit

    return replaced(audit, "_LATER", audit._LATER[:1])


@mutant("an audit that reads orders alone", losing.AUDITED, orders=["ok"], edges=[e.ROW_LOST], at="ProcessOrder")
def _audit_of_orders(_: Engine) -> AbstractContextManager[None]:
    """An order whose row is lost has a payment and a reservation, and no audit reports them."""
    from ordering.audit import Audit

    return replaced(Audit, "of_effects", lambda *_: iter(()))


@mutant("an audit that lists what a recovery will undo", losing.AUDITED, orders=["out of stock"], at="ProcessRefund")
def _audit_of_open_orders(_: Engine) -> AbstractContextManager[None]:
    """Every failed order with a payment is listed, whether or not something accounts for it."""
    from ordering import audit

    unlisted = audit._unlisted

    def listed_too(found: Any) -> str:
        return unlisted({name: value for name, value in found.items() if name != "unsettled"} if found else found)

    return replaced(audit, "_unlisted", listed_too)


@mutant("a sweep that does not audit", losing.NOTED, orders=["ok"], edges=[e.ROW_LOST])
def _unaudited(_: Engine) -> AbstractContextManager[None]:
    """A lost row stays unnoticed until an operator runs `orders audit`."""
    from ordering.audit import Audit

    return replaced(Audit, "sweep", lambda *_: 0)


@mutant("a recovery that trusts the row alone", losing.SEALED, orders=["ok"], edges=[e.ROW_LOST], at="ProcessOrder")
def _unsealed_recovery(_: Engine) -> AbstractContextManager[None]:
    """The row of a confirmed order is lost, and its recovery writes a new row: Pending, with all steps in effect."""
    from idempotency.saga.state import SagaState

    by_row = property(lambda state: state.status == state.saga.confirmed)
    return replaced(SagaState, "confirmed", by_row)


@mutant(
    "a row that was put back and that nothing confirms",
    breaks.FINAL,
    orders=["ok"],
    edges=[e.ROW_BACK],
    at="ProcessOrder@ProcessPayment",
)
def _unconfirmed(_: Engine) -> AbstractContextManager[None]:
    """The order is open again, its records are sealed, and the saga has succeeded: nothing acts or reports it."""
    from idempotency.saga.finalization import Finalization, Finalized

    confirm = Finalization._confirm

    def confirmed(self: Any, saga_id: str, document: Any, at: Any) -> Any:
        return Finalized.YES if self.reader.read(saga_id).confirmed else confirm(self, saga_id, document, at)

    return replaced(Finalization, "_confirm", confirmed)
