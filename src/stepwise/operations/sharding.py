"""The number of rows that hold the stock of a SKU.

Orders take stock meanwhile: each transaction here keeps the total.
"""

import random
import time
from collections.abc import Iterator, Sequence
from typing import Any

from idempotency import Action, Contention, TransientError, transact
from idempotency.codec import to_item
from ordering.stock import MAX_SHARDS, InventoryTable, Shards, Stock, stock_key

from .errors import CommandError
from .stack import Stack

# Tries of one transaction, and the longest pause between two: orders write the same rows.
_TRIES, _PAUSE = 20, 0.2
_ROUNDS = 3


class InvalidStock(CommandError):
    """The SKU, a number or the reason is wrong; the message names it. Nothing was written."""


def shards_of(stack: Stack) -> Shards:
    """Return a reader of the stock of SKUs."""
    return Shards(stack.dynamodb, stack.outputs["InventoryTable"])


def reshard(stack: Stack, sku: str, into: int) -> Stock:
    """Spread the stock of a SKU evenly over this number of rows. Returns the stock afterwards.

    Each row is added or removed in one transaction with the number of rows, and pieces move between two rows in one.
    So it is safe to stop this at any moment, and to repeat it. Raises InvalidStock, Contention.
    """
    if not 1 <= into <= MAX_SHARDS:
        raise InvalidStock(f"into: Expected 1 to {MAX_SHARDS}")
    shards = shards_of(stack)
    stock = _stocked(shards, sku)
    while len(stock.on_hand) != into:
        stock = _stepped(stack, shards, sku, into)
    return level(stack, sku)


def level(stack: Stack, sku: str) -> Stock:
    """Move pieces between the rows of a SKU until all have the same number, as far as orders allow it."""
    shards, table = shards_of(stack), InventoryTable(stack.outputs["InventoryTable"])
    for _ in range(_ROUNDS):
        for source, target, pieces in _moves(_stocked(shards, sku).on_hand):
            _once(stack, [table.move(sku, source, -pieces), table.move(sku, target, pieces)])
    return _stocked(shards, sku)


def even(pieces: int, rows: int) -> list[int]:
    """Return pieces by row: the same number in each, with one more in the first ones."""
    least, more = divmod(pieces, rows)
    return [least + (row < more) for row in range(rows)]


def count_condition(rows: int) -> tuple[str, dict[str, Any]]:
    """Return the condition that the first row has this number of rows, and its values."""
    return ("attribute_not_exists(shards)", {}) if rows == 1 else ("shards = :shards", {":shards": rows})


def pause() -> None:
    """Pause, to let orders go first."""
    time.sleep(random.uniform(0, _PAUSE))  # noqa: S311 # nosec B311 # a pause is no secret


def _stocked(shards: Shards, sku: str) -> Stock:
    stock = shards.look(sku)
    if stock is None:
        raise InvalidStock(f"sku: {sku} is not stocked")
    return stock


def _stepped(stack: Stack, shards: Shards, sku: str, into: int) -> Stock:
    """Add or remove one row. Returns the stock as read afterwards; another command may have changed it, too."""
    for _ in range(_TRIES):
        stock = _stocked(shards, sku)
        step = _one_more if len(stock.on_hand) < into else _one_less
        if len(stock.on_hand) == into or _once(stack, step(stack.outputs["InventoryTable"], sku, stock.on_hand, into)):
            return _stocked(shards, sku)
        pause()
    raise Contention(f"the stock of {sku} is being changed; try again")


def _once(stack: Stack, actions: Sequence[Action]) -> bool:
    """Try a transaction. Returns whether it has certainly been written."""
    try:
        return transact(stack.dynamodb, actions) is None
    except TransientError:
        return False


def _one_more(table: str, sku: str, on_hand: Sequence[int], into: int) -> list[Action]:
    """Add a row, with its share of what the first one has."""
    count = len(on_hand)
    pieces = on_hand[0] // (into - count + 1)
    row = to_item({"pk": stock_key(sku, count), "on_hand": pieces})
    return [
        _first(table, sku, count, "SET on_hand = on_hand - :pieces, shards = :next", pieces, count + 1),
        {"Put": {"TableName": table, "Item": row, "ConditionExpression": "attribute_not_exists(pk)"}},
    ]


def _one_less(table: str, sku: str, on_hand: Sequence[int], _: int) -> list[Action]:
    """Remove the last row. The first one gets what it has."""
    count, pieces = len(on_hand), on_hand[-1]
    gone = {
        "TableName": table,
        "Key": to_item({"pk": stock_key(sku, count - 1)}),
        "ConditionExpression": "on_hand = :pieces",
        "ExpressionAttributeValues": to_item({":pieces": pieces}),
    }
    number = "REMOVE shards" if count == 2 else ", shards = :next"
    update = f"SET on_hand = on_hand + :pieces {number}"
    return [_first(table, sku, count, update, pieces, count - 1), {"Delete": gone}]


def _first(table: str, sku: str, count: int, update: str, pieces: int, following: int) -> Action:
    """Build the write of the first row, which has the number of rows."""
    condition, values = count_condition(count)
    values |= {":pieces": pieces, **({":next": following} if following > 1 else {})}
    return {
        "Update": {
            "TableName": table,
            "Key": to_item({"pk": stock_key(sku)}),
            "UpdateExpression": update,
            "ConditionExpression": f"{condition} AND on_hand >= :pieces" if following > count else condition,
            "ExpressionAttributeValues": to_item(values),
        }
    }


def _moves(on_hand: Sequence[int]) -> Iterator[tuple[int, int, int]]:
    """Yield moves (source row, destination row, pieces): as few as possible."""
    wanted = even(sum(on_hand), len(on_hand))
    # Rows with more pieces keep them, so that a leveled SKU is left alone.
    order = sorted(range(len(on_hand)), key=lambda row: -on_hand[row])
    surplus = {row: on_hand[row] - share for row, share in zip(order, wanted, strict=True)}
    targets = [row for row in reversed(order) if surplus[row] < 0]
    for source in (row for row in order if surplus[row] > 0):
        while surplus[source]:
            target = targets[0]
            pieces = min(surplus[source], -surplus[target])
            surplus[source] -= pieces
            surplus[target] += pieces
            yield source, target, pieces
            if not surplus[target]:
                targets.pop(0)
