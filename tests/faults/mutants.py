"""Mutants of the saga, its steps and its finalization, in orders without a gateway."""

import copy
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any

from tests.faults import history_invariants as breaks
from tests.faults.engine import Engine
from tests.faults.mutant import edited, mutant, replaced, without_condition
from tests.faults.seams import Document


@mutant("a Catch that names one custom error", breaks.ENDS)
def _narrow_catch(engine: Engine) -> AbstractContextManager[None]:
    """A timeout or a throttled call ends the saga with the customer charged."""

    def edit(states: dict[str, Document]) -> None:
        for state in ("ProcessOrder", "ProcessPayment", "ReserveInventory"):
            states[state]["Catch"][0]["ErrorEquals"] = ["OutOfStock", "PaymentDeclined", "InvalidOrder"]

    return edited(engine, edit)


@mutant(
    "a late step lands after its compensation",
    breaks.AGREE,
    breaks.OUTCOME,
    breaks.MONEY,
    breaks.CONFIRMED,
)
def _no_guard(_: Engine) -> AbstractContextManager[None]:
    """The task times out before the function, and nothing bars the write that lands after the saga."""
    from idempotency.steps import COMPENSATED, StepStore

    committed = StepStore._committed

    def over_a_tombstone(self: Any, step: Any, result: Any) -> Any:
        action: Any = copy.deepcopy(committed(self, step, result))
        action["Put"]["ConditionExpression"] = "attribute_not_exists(pk) OR #status = :compensated"
        action["Put"]["ExpressionAttributeNames"] = {"#status": "status"}
        action["Put"]["ExpressionAttributeValues"] = {":compensated": {"S": COMPENSATED}}
        return action

    return replaced(StepStore, "_committed", over_a_tombstone)


def _never_barring(nothing: Callable[[Any], Any]) -> AbstractContextManager[None]:
    """Make a compensation undo what happened, and answer `nothing` for what did not."""
    from idempotency.dynamodb import transact
    from idempotency.steps import StepStore

    def compensate(self: Any, step: Any, *, undo: Sequence[Any], **_: Any) -> Any:
        undone = {"undone": True}
        cancelled = transact(self._client, [self._compensated(step, undone), *undo])
        if cancelled is None:
            return undone
        refusal = cancelled.refusals.get(0)
        if refusal is None or refusal.item is None:
            return nothing(step)
        return self._compensated_before(step, refusal.item)

    return replaced(StepStore, "compensate", compensate)


@mutant("a compensation of what never happened is an error", breaks.NEEDLESS)
def _strict_compensation(_: Engine) -> AbstractContextManager[None]:
    """The remaining compensations never run."""
    from idempotency import StateConflict

    def refuse(step: Any) -> Any:
        raise StateConflict(f"{step.key}: there is nothing to compensate")

    return _never_barring(refuse)


@mutant(
    "a compensation under another key than its step's",
    breaks.AGREE,
    breaks.OUTCOME,
    breaks.MONEY,
)
def _another_key(_: Engine) -> AbstractContextManager[None]:
    """The compensation reports success but undoes nothing."""
    from dataclasses import replace

    from idempotency.steps import StepStore

    compensate = StepStore.compensate

    def elsewhere(self: Any, step: Any, *, undo: Sequence[Any], absence: Sequence[Any], **_: Any) -> Any:
        return compensate(self, replace(step, name=f"Undo{step.name}"), undo=undo, absence=[])

    return replaced(StepStore, "compensate", elsewhere)


@mutant(
    "an order that is written unconditionally",
    breaks.AGREE,
    breaks.OUTCOME,
    breaks.FINALIZED,
)
def _unconditional_order(_: Engine) -> AbstractContextManager[None]:
    """A re-run resets the status."""
    from ordering.orders import Orders

    def process(self: Any, task: Any) -> Any:
        store = self.steps.store
        record = store._committed(task.step, {"status": "New"})
        row = self.table.save(task.request, task.step.at)
        store._client.transact_write_items(TransactItems=[without_condition(record), without_condition(row)])
        return {"status": "New"}

    return replaced(Orders, "process", process)


@mutant("stock that is taken without a condition", breaks.NEGATIVE)
def _unconditional_stock(_: Engine) -> AbstractContextManager[None]:
    """Stock goes negative."""
    from ordering.stock import InventoryTable

    take = InventoryTable.take
    return replaced(InventoryTable, "take", lambda self, item, shard: without_condition(take(self, item, shard)))


@mutant("a reservation that takes its lines one by one", breaks.REFUSED, breaks.STOCK)
def _line_by_line(_: Engine) -> AbstractContextManager[None]:
    """A multi-line reservation leaks its first lines."""
    from dataclasses import replace

    from idempotency import StepStore
    from ordering.inventory import Inventory
    from runtime.dynamodb import dynamodb

    reserve = Inventory.reserve

    class OneByOne(StepStore):
        def commit(self, step: Any, writes: Sequence[Any], result: Any, *, after: Sequence[str] = ()) -> Any:
            *lines, reservation, still_open = writes
            for line in lines[:-1]:
                dynamodb().transact_write_items(TransactItems=[line])
            return super().commit(step, [lines[-1], reservation, still_open], result, after=after)

    def one_by_one(self: Any, task: Any) -> Any:
        store = self.steps.store
        one_by_one = OneByOne(store._client, store._table, lifetime=store._lifetime)
        return reserve(replace(self, steps=replace(self.steps, store=one_by_one)), task)

    return replaced(Inventory, "reserve", one_by_one)


@mutant("a refund that deletes the payment", breaks.TRAIL)
def _deleting_refund(_: Engine) -> AbstractContextManager[None]:
    """The audit trail is lost."""
    from idempotency.codec import to_item
    from ordering.payments import PaymentsTable

    def refund(self: Any, order_id: str, at: Any) -> Any:
        condition = "attribute_exists(order_id)"
        key = to_item({"order_id": order_id})
        return {"Delete": {"TableName": self.name, "Key": key, "ConditionExpression": condition}}

    return replaced(PaymentsTable, "refund", refund)


@mutant("a refund without a condition", breaks.PAYMENT, breaks.AGREE)
def _unconditional_refund(_: Engine) -> AbstractContextManager[None]:
    """It refunds what was never captured, because it checks neither record nor row."""
    from ordering.payments import Payments

    def refund(self: Any, task: Any) -> Any:
        action = without_condition(self.table.refund(task.request.order_id, task.step.at))
        del action["Update"]["ExpressionAttributeValues"][":standing0"]
        self.steps.store._client.transact_write_items(TransactItems=[action])
        return {"undone": True}

    return replaced(Payments, "refund", refund)


@mutant("a notice without Retry and Catch", breaks.ENDS)
def _bare_notice(engine: Engine) -> AbstractContextManager[None]:
    """A missing topic fails a successful order."""

    def edit(states: dict[str, Document]) -> None:
        del states["sns:NotifySuccess"]["Retry"], states["sns:NotifySuccess"]["Catch"]

    return edited(engine, edit)


@mutant(
    "a success that is never recorded on the order",
    breaks.LISTED,
    breaks.CONFIRMED,
    breaks.FINALIZED,
)
def _never_confirmed(_: Engine) -> AbstractContextManager[None]:
    """A paid order stays New."""
    from idempotency.saga.finalization import Finalization

    return replaced(Finalization, "_confirm", lambda *_: None)


@mutant(
    "a completion that nobody has to own",
    breaks.AGREE,
    breaks.OUTCOME,
    breaks.MONEY,
    breaks.FINALIZED,
)
def _ownerless_record(_: Engine) -> AbstractContextManager[None]:
    """A late owner overwrites a newer owner's record."""
    from idempotency.steps import StepStore

    committed = StepStore._committed

    def unconditional(self: Any, step: Any, result: Any) -> Any:
        return without_condition(committed(self, step, result))

    return replaced(StepStore, "_committed", unconditional)


@mutant("record and business write in two writes", breaks.REFUSED, breaks.AGREE, breaks.OUTCOME)
def _two_writes(_: Engine) -> AbstractContextManager[None]:
    """A crash can happen between the two writes."""
    from idempotency import StateConflict
    from idempotency.dynamodb import transact
    from idempotency.steps import StepStore

    commit = StepStore.commit

    def in_two(self: Any, step: Any, writes: Sequence[Any], result: Any, **_: Any) -> Any:
        cancelled = transact(self._client, writes)
        if cancelled is not None:
            refusals = tuple(cancelled.refusals[index] for index in sorted(cancelled.refusals))
            raise StateConflict(f"{step.key}: not in the expected state", refusals)
        return commit(self, step, [], result)

    return replaced(StepStore, "commit", in_two)


@mutant(
    "a compensation that leaves no tombstone",
    breaks.AGREE,
    breaks.OUTCOME,
    breaks.MONEY,
    breaks.FINALIZED,
)
def _no_tombstone(_: Engine) -> AbstractContextManager[None]:
    """Nothing bars a step that lands after its compensation."""
    return _never_barring(lambda _: {"undone": False})


@mutant("a compensation that gives up in silence", breaks.ENDS, breaks.ALERT)
def _silent_surrender(engine: Engine) -> AbstractContextManager[None]:
    """Breaks the rule that every compensation that gave up has an alert."""

    def edit(states: dict[str, Document]) -> None:
        states["ProcessRefund"]["Catch"][0]["Next"] = "UpdateOrderStatus"

    return edited(engine, edit)


@mutant("a finalization that trusts every stop", breaks.FINALIZED, breaks.MONEY)
def _trusting_finalization(_: Engine) -> AbstractContextManager[None]:
    """A stopped or timed-out execution matches no Catch."""
    from idempotency.saga.finalization import Finalization, Finalized

    finalize = Finalization.finalize

    def trusting(self: Any, saga: Any, at: Any) -> Any:
        return Finalized.YES if saga.status in {"ABORTED", "TIMED_OUT"} else finalize(self, saga, at)

    return replaced(Finalization, "finalize", trusting)


@mutant("no sweep", breaks.LISTED, breaks.FINALIZED, breaks.CONFIRMED)
def _no_sweep(_: Engine) -> AbstractContextManager[None]:
    """Events are only delivered on a best-effort basis."""
    from idempotency.saga.sweep import Sweep

    return replaced(Sweep, "run", lambda *_: {"finalized": 0, "standing": 0})
