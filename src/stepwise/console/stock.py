"""Stock on hand, and who changed it, when and why."""

from collections.abc import Callable, Mapping
from typing import Any

from stepwise.operations import stock
from stepwise.operations.errors import CommandError
from stepwise.operations.sharding import InvalidStock
from stepwise.operations.stack import Stack
from stepwise.operations.stock import Changed
from stepwise.operations.values import whole_number

from .cache import Kept
from .changes import Change, Field, Form
from .pages import Page, Visit

_LAST = 100
_SKUS = 500
# Both read the whole table, which holds the reservations as well.
_ON_HAND = Kept(lambda visit: stock.on_hand(visit.stack))
_HISTORY = Kept(lambda visit: stock.changes(visit.stack))


class SkuNotFound(CommandError):
    """This SKU was never stocked."""


def view(visit: Visit) -> Mapping[str, Any]:
    """Return the pieces on hand of the first SKUs, and the last changes."""
    part = visit.asked("sku")
    on_hand = [(sku, pieces) for sku, pieces in _ON_HAND.get(visit).items() if part in sku]
    changes = [row for row in _HISTORY.get(visit) if part in row["sku"]]
    return {
        "on_hand": on_hand[:_SKUS],
        "more_skus": max(0, len(on_hand) - _SKUS),
        "changes": changes[: -_LAST - 1 : -1],
        "more": max(0, len(changes) - _LAST),
    }


def one(visit: Visit) -> Mapping[str, Any]:
    """Return the pieces of a SKU, and all their changes, newest first."""
    sku = visit.path["sku"]
    on_hand = _ON_HAND.get(visit)
    if sku not in on_hand:
        raise SkuNotFound(f"{sku} has no stock", see=("stock", "list"))
    changes = [row for row in _HISTORY.get(visit) if row["sku"] == sku]
    return {"sku": sku, "pieces": on_hand[sku], "changes": changes[::-1]}


def _told(done: Changed) -> str:
    _ON_HAND.forget()
    _HISTORY.forget()
    row = done.row
    if done.again:
        return f"Changed nothing: made before, at {row['at']} by {row['by']}. Another one needs another reason."
    return f"{done.moved}."


def _whole(text: str) -> int:
    """Parse a number of pieces. Raises InvalidStock if stock cannot have it."""
    try:
        return whole_number(text)
    except ValueError:
        raise InvalidStock(f"pieces: a whole number up to {stock.MAX_PIECES}") from None


_REASON = Field(
    "reason", "Why", help="Such as the delivery's number. The same change with the same reason is made once."
)
_PIECES = Field("pieces", "Pieces", "number")
type _Operation = Callable[[Stack, str, int, str, str], Changed]


def _change(name: str, title: str, verb: str, effect: str, operation: _Operation) -> Change:
    """Define a change of the SKU that the button names."""

    def run(visit: Visit, values: Form, who: str) -> str:
        return _told(operation(visit.stack, visit.asked("sku"), _whole(values["pieces"]), values["reason"], who))

    return Change(
        name,
        title,
        effect=lambda visit: f"{visit.asked('sku')}: {effect}",
        command=lambda visit: ("stock", verb, visit.asked("sku"), "PIECES", ("--reason", "WHY")),
        run=run,
        parameters=("sku",),
        fields=(_PIECES, _REASON),
        needs=("InventoryTable",),
    )


ADD = _change("add-stock", "Add stock", "add", "adds the pieces that came in to the stock on hand.", stock.add)
SET = _change(
    "set-stock",
    "Set stock",
    "set",
    "sets the pieces on hand, as counted. Reserved pieces are not on hand.",
    stock.set_to,
)
NEW = Change(
    "new-stock",
    "Stock a SKU",
    effect=lambda _: "Adds pieces to the stock of a SKU, which may be new.",
    command=lambda _: ("stock", "add", "SKU", "PIECES", ("--reason", "WHY")),
    run=lambda visit, values, who: _told(
        stock.add(visit.stack, values["sku"], _whole(values["pieces"]), values["reason"], who)
    ),
    fields=(Field("sku", "SKU", help="Letters, digits, - _ and ."), _PIECES, _REASON),
    needs=("InventoryTable",),
)

PAGES = (
    Page("/stock", "stock.html", view, title="Stock", needs=("InventoryTable",), live=True),
    Page("/stock/{sku}", "sku.html", one, needs=("InventoryTable",), live=True),
)
CHANGES = (ADD, SET, NEW)
