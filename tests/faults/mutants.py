"""Deliberately broken variants, as public samples have them (DESIGN, section 8): the explorer must see each one fail.

Each is a small patch of the loaded code or of the loaded definition, put on in a worker's process and taken off again.
"""

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any

from tests.faults import laws
from tests.faults.engine import SAGA, Engine
from tests.faults.scenario import ORDERS, Scenario
from tests.faults.seams import Document
from tests.faults.workers import Result, engine, played

type Patch = Callable[[Engine], AbstractContextManager[None]]


@dataclass(frozen=True, slots=True)
class Mutant:
    """laws: the law that breaks first is one of these. orders: those in which it is looked for. at: the place."""

    patch: Patch
    laws: frozenset[str]
    orders: Sequence[str]
    at: str


MUTANTS: dict[str, Mutant] = {}


_BY_GATEWAY = tuple(name for name, kind in ORDERS.items() if kind.gateway)
_WITHOUT = tuple(name for name, kind in ORDERS.items() if not kind.gateway)


def _mutant(name: str, *broken: str, orders: Sequence[str] = _WITHOUT, at: str = "") -> Callable[[Patch], Patch]:
    def register(patch: Patch) -> Patch:
        MUTANTS[name] = Mutant(patch, frozenset(broken), orders, at)
        return patch

    return register


@contextmanager
def _replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


@contextmanager
def _edited(engine: Engine, edit: Callable[[dict[str, Document]], None]) -> Iterator[None]:
    definition = copy.deepcopy(engine.machines[SAGA])
    edit(definition["States"])
    with engine.redefined(SAGA, definition):
        yield


def _without_condition(action: Mapping[str, Any]) -> dict[str, Any]:
    ((kind, parameters),) = action.items()
    return {kind: {key: value for key, value in parameters.items() if key != "ConditionExpression"}}


@_mutant("a Catch that names one custom error", laws.ENDS)
def _narrow_catch(engine: Engine) -> AbstractContextManager[None]:
    """Section 8, 1: a time-out or a throttled call ends the saga with the customer charged."""

    def edit(states: dict[str, Document]) -> None:
        for state in ("ProcessOrder", "ProcessPayment", "ReserveInventory"):
            states[state]["Catch"][0]["ErrorEquals"] = ["OutOfStock", "PaymentDeclined", "InvalidOrder"]

    return _edited(engine, edit)


@_mutant("a late step lands after its compensation", laws.AGREE, laws.OUTCOME, laws.MONEY, laws.CONFIRMED)
def _no_guard(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 2: the task times out before the function, and nothing bars the write that lands after the saga."""
    from idempotency.steps import COMPENSATED, StepStore

    committed = StepStore._committed

    def over_a_tombstone(self: Any, step: Any, result: Any) -> Any:
        action: Any = copy.deepcopy(committed(self, step, result))
        action["Put"]["ConditionExpression"] = "attribute_not_exists(pk) OR #status = :compensated"
        action["Put"]["ExpressionAttributeNames"] = {"#status": "status"}
        action["Put"]["ExpressionAttributeValues"] = {":compensated": {"S": COMPENSATED}}
        return action

    return _replaced(StepStore, "_committed", over_a_tombstone)


@_mutant("a compensation of what never happened is an error", laws.NEEDLESS)
def _strict_compensation(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 3: the remaining compensations never run."""
    from idempotency import StateConflict
    from idempotency.dynamodb import transact
    from idempotency.steps import StepStore

    def compensate(self: Any, step: Any, *, undo: Sequence[Any], absence: Sequence[Any], **_: Any) -> Any:
        undone = {"undone": True}
        cancelled = transact(self._client, [self._compensated(step, undone), *undo])
        if cancelled is None:
            return undone
        refusal = cancelled.refusals.get(0)
        if refusal is None or refusal.item is None:
            raise StateConflict(f"{step.key}: there is nothing to compensate")
        return self._compensated_before(step, refusal.item)

    return _replaced(StepStore, "compensate", compensate)


@_mutant("a compensation under another key than its step's", laws.AGREE, laws.OUTCOME, laws.MONEY)
def _another_key(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 4: it reports success and undoes nothing."""
    from dataclasses import replace

    from idempotency.steps import StepStore

    compensate = StepStore.compensate

    def elsewhere(self: Any, step: Any, *, undo: Sequence[Any], absence: Sequence[Any], **_: Any) -> Any:
        return compensate(self, replace(step, name=f"Undo{step.name}"), undo=undo, absence=[])

    return _replaced(StepStore, "compensate", elsewhere)


@_mutant("an order that is written unconditionally", laws.AGREE, laws.OUTCOME, laws.SETTLED)
def _unconditional_order(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 5: a re-run resets the status."""
    from orders.service import Orders

    def process(self: Any, task: Any) -> Any:
        record = self.steps._committed(task.step, {"status": "New"})
        row = self.table.save(task.order, task.step.at)
        self.steps._client.transact_write_items(TransactItems=[_without_condition(record), _without_condition(row)])
        return {"status": "New"}

    return _replaced(Orders, "process", process)


@_mutant("stock that is taken without a condition", laws.NEGATIVE)
def _unconditional_stock(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 5: stock goes negative."""
    from inventory.table import InventoryTable

    take = InventoryTable.take
    return _replaced(InventoryTable, "take", lambda self, item: _without_condition(take(self, item)))


@_mutant("a reservation that takes its lines one by one", laws.STOCK)
def _line_by_line(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 5: a multi-line reservation leaks its first lines."""
    from idempotency import StepStore
    from inventory.service import Inventory
    from runtime.dynamodb import dynamodb

    reserve = Inventory.reserve

    class OneByOne(StepStore):
        def commit(self, step: Any, writes: Sequence[Any], result: Any) -> Any:
            *lines, reservation = writes
            for line in lines[:-1]:
                dynamodb().update_item(**line["Update"])
            return super().commit(step, [lines[-1], reservation], result)

    def one_by_one(self: Any, task: Any) -> Any:
        steps = OneByOne(self.steps._client, self.steps._table, lifetime=self.steps._lifetime)
        return reserve(type(self)(steps, self.table), task)

    return _replaced(Inventory, "reserve", one_by_one)


@_mutant("a refund that deletes the payment", laws.TRAIL)
def _deleting_refund(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 6: the audit trail is gone with it."""
    from payments.table import PaymentsTable
    from runtime.dynamodb import attributes

    def refund(self: Any, order_id: str, at: Any) -> Any:
        condition = "attribute_exists(order_id)"
        key = attributes({"order_id": order_id})
        return {"Delete": {"TableName": self.name, "Key": key, "ConditionExpression": condition}}

    return _replaced(PaymentsTable, "refund", refund)


@_mutant("a refund without a condition", laws.PAYMENT, laws.AGREE)
def _unconditional_refund(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 5 and 4: a refund of what was never captured, because neither record nor row is asked."""
    from payments.service import Payments

    def refund(self: Any, task: Any) -> Any:
        action = _without_condition(self.table.refund(task.order.order_id, task.step.at))
        del action["Update"]["ExpressionAttributeValues"][":captured"]
        self.steps._client.update_item(**action["Update"])
        return {"undone": True}

    return _replaced(Payments, "refund", refund)


@_mutant("a notice without Retry and Catch", laws.ENDS)
def _bare_notice(engine: Engine) -> AbstractContextManager[None]:
    """Section 8, 7: a topic that is away fails an order that succeeded."""

    def edit(states: dict[str, Document]) -> None:
        del states["sns:NotifySuccess"]["Retry"], states["sns:NotifySuccess"]["Catch"]

    return _edited(engine, edit)


@_mutant("a success that is never recorded on the order", laws.CONFIRMED, laws.SETTLED)
def _never_confirmed(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 7."""
    from orders.settlement import Settlement

    return _replaced(Settlement, "_confirm", lambda *_: None)


@_mutant("a completion that nobody has to own", laws.AGREE, laws.OUTCOME, laws.MONEY, laws.SETTLED)
def _ownerless_record(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 9: a late owner overwrites the record of a newer one."""
    from idempotency.steps import StepStore

    committed = StepStore._committed

    def unconditional(self: Any, step: Any, result: Any) -> Any:
        return _without_condition(committed(self, step, result))

    return _replaced(StepStore, "_committed", unconditional)


@_mutant("record and business write in two writes", laws.AGREE, laws.OUTCOME)
def _two_writes(_: Engine) -> AbstractContextManager[None]:
    """Section 8, 9: there is something in between to crash in."""
    from idempotency import StateConflict
    from idempotency.dynamodb import transact
    from idempotency.steps import StepStore

    commit = StepStore.commit

    def in_two(self: Any, step: Any, writes: Sequence[Any], result: Any) -> Any:
        cancelled = transact(self._client, writes)
        if cancelled is not None:
            refusals = tuple(cancelled.refusals[index] for index in sorted(cancelled.refusals))
            raise StateConflict(f"{step.key}: not in the expected state", refusals)
        return commit(self, step, [], result)

    return _replaced(StepStore, "commit", in_two)


@_mutant("a compensation that leaves no tombstone", laws.AGREE, laws.OUTCOME, laws.MONEY, laws.SETTLED)
def _no_tombstone(_: Engine) -> AbstractContextManager[None]:
    """Section 3: without it nothing bars a step that lands after its compensation."""
    from idempotency.dynamodb import transact
    from idempotency.steps import StepStore

    def compensate(self: Any, step: Any, *, undo: Sequence[Any], absence: Sequence[Any], **_: Any) -> Any:
        undone = {"undone": True}
        cancelled = transact(self._client, [self._compensated(step, undone), *undo])
        if cancelled is None:
            return undone
        refusal = cancelled.refusals.get(0)
        if refusal is None or refusal.item is None:
            return {"undone": False}
        return self._compensated_before(step, refusal.item)

    return _replaced(StepStore, "compensate", compensate)


@_mutant("a compensation that gives up in silence", laws.ENDS, laws.ALERT)
def _silent_surrender(engine: Engine) -> AbstractContextManager[None]:
    """Section 7: every compensation that gave up has an alert."""

    def edit(states: dict[str, Document]) -> None:
        states["ProcessRefund"]["Catch"][0]["Next"] = "UpdateOrderStatus"

    return _edited(engine, edit)


@_mutant("a settlement that trusts every stop", laws.SETTLED, laws.MONEY)
def _trusting_settlement(_: Engine) -> AbstractContextManager[None]:
    """Section 2: an execution that is stopped or times out is seen by no Catch."""
    from orders.settlement import Settlement

    return _replaced(Settlement, "_may_need_undoing", lambda *_: False)


@_mutant("no sweep", laws.SETTLED, laws.CONFIRMED)
def _no_sweep(_: Engine) -> AbstractContextManager[None]:
    """Section 2: events are delivered at best effort."""
    from orders.settlement import Sweep

    return _replaced(Sweep, "run", lambda *_: 0)


def _compensating(compensate: Callable[..., Any]) -> AbstractContextManager[None]:
    """Another order of what a compensation does outside and inside DynamoDB."""
    from idempotency.steps import StepStore

    def otherwise(self: Any, step: Any, *, undo: Any, absence: Any, outside: Any = None) -> Any:
        if outside is None:
            return self._compensate(step, undo, absence)
        return compensate(self, step, outside, lambda: self._compensate(step, undo, absence))

    return _replaced(StepStore, "compensate", otherwise)


@_mutant("a cancel before the step is barred", laws.PAID, laws.CHARGED, orders=_BY_GATEWAY)
def _cancel_first(_: Engine) -> AbstractContextManager[None]:
    """A stray call gives back what a confirmed order has paid, and is refused afterwards."""

    def compensate(_self: Any, _step: Any, outside: Any, record: Any) -> Any:
        outside()
        return record()

    return _compensating(compensate)


@_mutant(
    "a compensation that is recorded before the cancel",
    laws.PAID,
    orders=["out of stock by gateway"],
    at="ProcessRefund#",
)
def _record_first(_: Engine) -> AbstractContextManager[None]:
    """What dies in between leaves the charge, and nobody looks again."""

    def compensate(self: Any, step: Any, outside: Any, record: Any) -> Any:
        standing = self._bar(step)
        if standing is not None:
            return self._compensated_before(step, standing)
        answer = record()
        outside()
        return answer

    return _compensating(compensate)


@_mutant("a cancel only of what a record says is captured", laws.PAID, laws.KNOWN, orders=_BY_GATEWAY)
def _cancel_what_is_recorded(_: Engine) -> AbstractContextManager[None]:
    """A charge whose record was never written stands for ever."""

    def compensate(self: Any, step: Any, outside: Any, record: Any) -> Any:
        recorded = self.statuses(step.saga_id, [step.name])[step.name]
        standing = self._bar(step)
        if standing is not None:
            return self._compensated_before(step, standing)
        if recorded:
            outside()
        return record()

    return _compensating(compensate)


@_mutant(
    "a payment that is recorded before it is charged", laws.PAID, orders=["declined by gateway"], at="ProcessPayment"
)
def _charge_last(_: Engine) -> AbstractContextManager[None]:
    """What dies in between leaves a payment that nobody has made."""
    from dataclasses import replace

    from payments import service
    from payments.service import Payments

    process = Payments.process

    def recorded_first(self: Any, task: Any) -> Any:
        if self.gateway is None:
            return process(self, task)
        with _replaced(service, "authorize", lambda _: None):
            result = process(replace(self, gateway=None), task)
        self._charge(task)
        return result

    return _replaced(Payments, "process", recorded_first)


@_mutant("a charge that is repeated and not asked for, where keys mean nothing", laws.CHARGE, orders=_BY_GATEWAY)
def _no_question(_: Engine) -> AbstractContextManager[None]:
    """A lost answer charges the customer twice."""
    from local.gateway.ledger import SUCCEEDED, Ledger
    from payments.gateway import HttpGateway

    accept = Ledger.accept

    def charge_again(self: Any, key: str, request: Any) -> Any:
        known = accept(self, key, request)
        if known and known.status == SUCCEEDED:
            self._move("capture", key, request.currency, request.amount)
        return known

    @contextmanager
    def both() -> Iterator[None]:
        with _replaced(HttpGateway, "_find", lambda *_: None), _replaced(Ledger, "accept", charge_again):
            yield

    return both()


@_mutant("a cancel that is not remembered for a key that is not known", laws.PAID, orders=_BY_GATEWAY)
def _forgetful_gateway(_: Engine) -> AbstractContextManager[None]:
    """As most processors have it: a charge that was held on its way lands after the order was undone."""
    from local.gateway.ledger import CANCELED, Charge, Ledger

    cancel = Ledger.cancel

    def only_if_known(self: Any, key: str) -> Any:
        return cancel(self, key) if self.lookup(key) else Charge(key, CANCELED)

    return _replaced(Ledger, "cancel", only_if_known)


@dataclass(frozen=True, slots=True)
class Finding:
    """How a mutant was found. result: the first run that broke a law, if any; tried: how many runs it took."""

    mutant: str
    result: Result | None
    tried: int


def hunt(name: str) -> Finding:
    """Put the mutant on in this process and try its orders without a fault, then with single faults, until it fails."""
    tried = 0
    with MUTANTS[name].patch(engine()):
        clean: list[Result] = []
        for scenario in map(Scenario, MUTANTS[name].orders):
            clean.append(played(scenario, candidates=True))
            tried += 1
            if clean[-1].violations:
                return Finding(name, clean[-1], tried)
        for result in clean:
            for fault in (fault for fault in result.candidates if fault.at.startswith(MUTANTS[name].at)):
                struck = played(Scenario(result.scenario.order, (fault,)))
                tried += 1
                if struck.violations:
                    return Finding(name, struck, tried)
    return Finding(name, None, tried)
