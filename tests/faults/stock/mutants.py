"""Deliberately broken variants of stock: the explorer must see each one fail.

Each is a small patch of the loaded code. `focus` says where its faults are drawn.
"""

from collections import Counter
from contextlib import AbstractContextManager, ExitStack
from typing import Any

import ordering.inventory
import ordering.stock
from idempotency import transact
from idempotency.codec import to_item
from idempotency.dynamodb import read_rows
from ordering.inventory import Places, Reserving
from ordering.stock import InventoryTable, Shards, Stock, pieces_in, sku_of, stock_key
from stepwise.operations import sharding, stock
from stepwise.operations.stack import Stack
from tests.faults import faults as f
from tests.faults.actors.mutant import Mutants
from tests.faults.actors.schedule import HELD, SLOW
from tests.faults.mutant import replaced, without_condition
from tests.faults.stock import invariants as breaks
from tests.faults.stock import schedule as s
from tests.faults.stock.play import engine

MUTANTS = Mutants()
_RESERVE = r"^ReserveInventory@.*\.call\d"
_RESHARDED = ((_RESERVE, (s.SHARDED_AT,)),)
_TWO_OPERATORS = ((r"^stock\.shard@.*\.call[234]", (f.DUPLICATE_AT, SLOW)), *_RESHARDED)
_UNDONE = (
    (r"^NotifySuccess|^sns\.NotifySuccess", (f.RUNTIME_ERROR_BEFORE,)),
    (_RESERVE, (s.RELEASED_AT, s.SHARDED_AT)),
)
_ADDED = ((r"^stock\.add@.*#1\.call", (f.ANSWER_LOST, HELD)),)


@MUTANTS("a sum that is read row by row", breaks.REFUSED, focus=_RESHARDED)
def _row_by_row() -> AbstractContextManager[None]:
    return replaced(ordering.stock, "read_snapshot", read_rows)


@MUTANTS("pieces that an order moves in two writes", breaks.CONSERVED)
def _two_writes() -> AbstractContextManager[None]:
    return replaced(ordering.inventory, "transact", _one_by_one)


@MUTANTS("pieces that an operator moves in two writes", breaks.CONSERVED, breaks.COUNTED, focus=_RESHARDED)
def _two_writes_of_an_operator() -> AbstractContextManager[None]:
    return replaced(sharding, "transact", _one_by_one)


def _one_by_one(client: Any, actions: Any) -> Any:
    for action in actions:
        if cancelled := transact(client, [action]):
            return cancelled
    return None


@MUTANTS("a shard that gives more than it has", breaks.NEGATIVE, breaks.REFUSED, focus=_RESHARDED)
def _negative() -> AbstractContextManager[None]:
    move = InventoryTable.move
    return replaced(
        InventoryTable,
        "move",
        lambda self, sku, shard, pieces: (
            without_condition(move(self, sku, shard, pieces)) if pieces < 0 else move(self, sku, shard, pieces)
        ),
    )


@MUTANTS("a line that is taken from too little", breaks.NEGATIVE)
def _oversold() -> AbstractContextManager[None]:
    take = InventoryTable.take
    return replaced(InventoryTable, "take", lambda self, item, shard: without_condition(take(self, item, shard)))


@MUTANTS("a shard that a move brings back", breaks.COUNTED, focus=_RESHARDED)
def _brought_back() -> AbstractContextManager[None]:
    move = InventoryTable.move
    return replaced(
        InventoryTable,
        "move",
        lambda self, sku, shard, pieces: (
            _added(self, sku, shard, pieces) if pieces > 0 else move(self, sku, shard, pieces)
        ),
    )


@MUTANTS("a shard that a release brings back", breaks.COUNTED, focus=_UNDONE)
def _released_to_nowhere() -> AbstractContextManager[None]:
    return replaced(InventoryTable, "give_back", lambda self, item, shard: _added(self, item.sku, shard, item.quantity))


def _added(table: InventoryTable, sku: str, shard: int, pieces: int) -> Any:
    """Add pieces to a row even if it does not exist."""
    return {
        "Update": {
            "TableName": table.name,
            "Key": to_item({"pk": stock_key(sku, shard)}),
            "UpdateExpression": "ADD on_hand :pieces",
            "ExpressionAttributeValues": to_item({":pieces": pieces}),
        }
    }


@MUTANTS("a release that waits for a shard that is gone", breaks.ENDS, focus=_UNDONE)
def _waits_for_the_shard() -> AbstractContextManager[None]:
    return replaced(Places, "_missing", lambda *_: None)


@MUTANTS("a row that is removed with what was read", breaks.CONSERVED, focus=_RESHARDED)
def _removed() -> AbstractContextManager[None]:
    one_less = sharding._one_less
    return replaced(
        sharding,
        "_one_less",
        lambda *given: [without_condition(one) if "Delete" in one else one for one in one_less(*given)],
    )


@MUTANTS("rows that two operators count", breaks.COUNTED, breaks.CONSERVED, focus=_TWO_OPERATORS)
def _counted_twice() -> AbstractContextManager[None]:
    return replaced(sharding, "count_condition", lambda _: ("attribute_exists(pk)", {}))


@MUTANTS("a first row that is taken for the whole stock", breaks.REFUSED)
def _first_row() -> AbstractContextManager[None]:
    return replaced(Reserving, "_is_spread", lambda *_: False)


@MUTANTS("a number of shards that is believed", breaks.REFUSED, focus=_RESHARDED)
def _believed() -> AbstractContextManager[None]:
    whole = Shards._read

    def read_some(self: Any, sku: str, read: Any, *, exact: bool) -> Stock | None:
        if self.client is engine().operators.dynamodb:
            return whole(self, sku, read, exact=exact)
        rows = read(self.client, [(self._table, {"pk": stock_key(sku, n)}) for n in range(self._known.get(sku, 1))])
        return Stock([pieces_in(row) if row else 0 for row in rows], exact)

    return replaced(Shards, "_read", read_some)


@MUTANTS("a count that sees the first row only", breaks.CONSERVED, breaks.CHANGED)
def _first_row_counted() -> AbstractContextManager[None]:
    counted = stock._counted
    return replaced(
        stock,
        "_counted",
        lambda kind, sku, pieces, before: counted(kind, sku, pieces, before and Stock(before.on_hand[:1])),
    )


@MUTANTS("a change that overwrites orders", breaks.CONSERVED, breaks.CHANGED)
def _overwritten() -> AbstractContextManager[None]:
    set_shard = stock._set_shard
    return replaced(stock, "_set_shard", lambda *given: without_values(set_shard(*given)))


@MUTANTS("an addition that is made twice", breaks.CONSERVED, focus=_ADDED)
def _added_twice() -> AbstractContextManager[Any]:
    """The row is neither read nor checked by a condition."""
    noted, patches = stock._noted, ExitStack()
    patches.enter_context(replaced(stock, "_noted", lambda *given: without_condition(noted(*given))))
    patches.enter_context(replaced(Stack, "row", lambda *_, **__: None))
    return patches


@MUTANTS("a list of first rows", breaks.LISTED)
def _listed() -> AbstractContextManager[None]:
    def listed(stack: Any) -> Any:
        found = Counter[str]()
        for row in stack.rows("InventoryTable"):
            if row["pk"] == stock_key(sku_of(row["pk"])):
                found[sku_of(row["pk"])] += int(row["on_hand"])
        return [{"sku": sku, "on_hand": pieces, "shards": 1} for sku, pieces in found.items()]

    return replaced(stock, "listed", listed)


def without_values(action: Any) -> Any:
    """Return an update without its condition, and without values that only the condition uses."""
    ((kind, parameters),) = without_condition(action).items()
    values = {":pieces": parameters["ExpressionAttributeValues"][":pieces"]}
    return {kind: {**parameters, "ExpressionAttributeValues": values}}
