"""Stock on hand: show, seed and change it. Every change leaves a row with who, when, why and how many."""

import uuid
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

import msgspec
from botocore.exceptions import ClientError

from idempotency import Action, Contention, TransientError
from idempotency.codec import to_item
from idempotency.dynamodb import transact
from ordering.requests import Sku
from ordering.stock import PREFIX, InventoryTable, Stock, sku_of, stock_key
from runtime.validation import parser

from .caller import caller
from .sharding import InvalidStock, count_condition, even, level, pause, shards_of
from .stack import Row, Stack

MAX_PIECES = 1_000_000_000
_CHANGE = "STOCK_CHANGE#"
# Orders take stock meanwhile. After half of the rounds `add` no longer insists on the total that it read.
_ROUNDS = 20


class _Change(msgspec.Struct, frozen=True):
    sku: Sku
    pieces: Annotated[int, msgspec.Meta(ge=0, le=MAX_PIECES)]
    reason: Annotated[str, msgspec.Meta(max_length=1000)]


_parse = parser(_Change, InvalidStock, "the change", free_text=["reason"])


@dataclass(frozen=True, slots=True)
class Changed:
    """The row of a change. again: the same change was made before, so nothing was changed now."""

    row: Row
    again: bool

    @property
    def moved(self) -> str:
        """Describe the change in words."""
        row = self.row
        if "is" in row:
            return f"{row['sku']}: {row['was']} -> {row['is']} pieces on hand"
        return f"{row['sku']}: {row['pieces']} pieces added"


def on_hand(stack: Stack) -> dict[str, int]:
    """Return pieces on hand by SKU, over all its rows, in the order of the SKUs."""
    return {row["sku"]: row["on_hand"] for row in listed(stack)}


def listed(stack: Stack) -> list[Row]:
    """Return SKU, pieces on hand and number of rows of each SKU, in the order of the SKUs.

    While pieces move from one row to another, both may be counted, or neither.
    """
    pieces, shards = Counter[str](), Counter[str]()
    for row in stack.rows("InventoryTable"):
        if row["pk"].startswith(PREFIX):
            pieces[sku_of(row["pk"])] += int(row["on_hand"])
            shards[sku_of(row["pk"])] += 1
    return [{"sku": sku, "on_hand": pieces[sku], "shards": shards[sku]} for sku in sorted(shards)]


def seed(stack: Stack, pieces: Mapping[str, int]) -> list[str]:
    """Stock each SKU that has no stock yet. Returns the SKUs that had; their stock is unchanged.

    Raises InvalidStock before anything is written.
    """
    for sku, count in pieces.items():
        _parse({"sku": sku, "pieces": count, "reason": "initial stock"})
    return [sku for sku, count in pieces.items() if not _insert(stack, sku, count)]


def add(stack: Stack, sku: str, pieces: int, reason: str, by: str = "") -> Changed:
    """Add pieces to the stock of a SKU, which may be new. The same SKU, pieces and reason are one change, made once.

    by: the operator; the caller by default. The row lacks `was` and `is` if too many orders took stock meanwhile.
    Raises InvalidStock, Contention.
    """
    if pieces == 0:
        raise InvalidStock("pieces: Expected `int` >= 1")
    return _change(stack, "add", sku, pieces, reason, by)


def set_to(stack: Stack, sku: str, pieces: int, reason: str, by: str = "") -> Changed:
    """Set the pieces on hand of a SKU, as counted. Reserved pieces are not on hand.

    Idempotent, and raises, as `add`.
    """
    return _change(stack, "set", sku, pieces, reason, by)


def changes(stack: Stack, sku: str = "") -> list[Row]:
    """Return the changes of a SKU or of all, oldest first. `pieces`: how many were added; negative if removed."""
    rows = (row for row in stack.rows("InventoryTable") if row["pk"].startswith(_CHANGE))
    return sorted((row for row in rows if sku in ("", row["sku"])), key=lambda row: str(row["at"]))


def _change(stack: Stack, kind: str, sku: str, pieces: int, reason: str, by: str) -> Changed:
    reason = reason.strip()
    _parse({"sku": sku, "pieces": pieces, "reason": reason})
    number = uuid.uuid5(uuid.NAMESPACE_OID, "\n".join([kind, str(pieces), reason]))
    key, by, shards = f"{_CHANGE}{sku}#{number}", by or caller(stack), shards_of(stack)
    for tries in range(_ROUNDS):
        before = shards.look(sku)
        if made := stack.row("InventoryTable", pk=key):
            return Changed(made, again=True)
        row = {"pk": key, "sku": sku, "kind": kind, **_counted(kind, sku, pieces, before)}
        row |= {"by": by, "reason": reason, "at": datetime.now(UTC).isoformat()}
        exact = kind == "set" or before is None or tries < _ROUNDS // 2
        with suppress(TransientError):
            if _write(stack, row, before) if exact else _write_anyway(stack, row):
                return Changed(row, again=False)
        pause()
    raise Contention(f"the stock of {sku} is being changed; try again")


def _counted(kind: str, sku: str, pieces: int, before: Stock | None) -> Row:
    """Compute the change in pieces. Raises InvalidStock."""
    was = before.total if before else 0
    moved = pieces if kind == "add" else pieces - was
    if was + moved > MAX_PIECES:
        raise InvalidStock(f"pieces: {sku} would have more than {MAX_PIECES}")
    return {"pieces": moved, "was": was, "is": was + moved}


def _write(stack: Stack, row: Row, before: Stock | None) -> bool:
    """Write the change, if all rows of the SKU are unchanged: `was` is true, and no order is overwritten."""
    on_hand = before.on_hand if before else [None]
    after = even(row["is"], len(on_hand))
    writes = [_set_shard(stack, row["sku"], shard, now, on_hand) for shard, now in enumerate(after)]
    return transact(stack.dynamodb, [*writes, _noted(stack, row)]) is None


def _write_anyway(stack: Stack, row: Row) -> bool:
    """Write an addition to the first row, however many pieces orders take meanwhile. Only `pieces` is known then."""
    del row["was"], row["is"]
    added = InventoryTable(stack.outputs["InventoryTable"]).move(row["sku"], 0, row["pieces"])
    if transact(stack.dynamodb, [added, _noted(stack, row)]) is not None:
        return False
    with suppress(TransientError):
        level(stack, row["sku"])
    return True


def _set_shard(stack: Stack, sku: str, shard: int, pieces: int, before: Sequence[int | None]) -> Action:
    """Set the pieces of a row that is unchanged since it was read."""
    condition, values = "attribute_not_exists(pk)", {}
    if before[shard] is not None:
        counted, more = count_condition(len(before)) if shard == 0 else ("attribute_exists(pk)", {})
        condition, values = f"on_hand = :before AND {counted}", {":before": before[shard], **more}
    return {
        "Update": {
            "TableName": stack.outputs["InventoryTable"],
            "Key": to_item({"pk": stock_key(sku, shard)}),
            "UpdateExpression": "SET on_hand = :pieces",
            "ConditionExpression": condition,
            "ExpressionAttributeValues": to_item({":pieces": pieces, **values}),
        }
    }


def _noted(stack: Stack, row: Row) -> Action:
    table, absent = stack.outputs["InventoryTable"], "attribute_not_exists(pk)"
    return {"Put": {"TableName": table, "Item": to_item(row), "ConditionExpression": absent}}


def _insert(stack: Stack, sku: str, count: int) -> bool:
    try:
        stack.dynamodb.put_item(
            TableName=stack.outputs["InventoryTable"],
            Item={"pk": {"S": stock_key(sku)}, "on_hand": {"N": str(count)}},
            ConditionExpression="attribute_not_exists(pk)",
        )
    except ClientError as error:
        if error.response["Error"]["Code"] == "ConditionalCheckFailedException":
            return False
        raise
    return True
