"""`stepwise stock` and `seed`: stock on hand."""

from collections.abc import Callable
from typing import Annotated

import typer

from stepwise.operations import sharding, stock
from stepwise.operations.stack import Stack
from stepwise.operations.values import whole_number

from . import checks, output, views
from .options import chosen_stack

Sku = Annotated[str, typer.Argument(metavar="SKU", help="1 to 64 letters, digits, - _ and .")]
Reason = Annotated[
    str,
    typer.Option(callback=checks.reason, help="Why, such as the delivery's number; kept with your ARN and the time."),
]

app = typer.Typer(help="Stock on hand. Without a verb: the list.", invoke_without_command=True)


@app.callback()
def show_stock(context: typer.Context) -> None:
    """Show and change the stock on hand. Without a verb, list it."""
    if context.invoked_subcommand is None:
        list_stock()


@app.command("list")
def list_stock() -> None:
    """List the pieces on hand by SKU. Reads the whole table, which holds the reservations as well."""
    _show(chosen_stack(), [])


@app.command()
def seed(
    pieces: Annotated[list[str], typer.Argument(metavar="SKU=PIECES...", help="Stock for SKUs that have none yet.")],
) -> None:
    """Stock SKUs that have no stock yet. Existing stock does not change."""
    named = [_pieces(text) for text in pieces]
    wanted = dict(named)
    if len(wanted) < len(named):
        raise typer.BadParameter("names a SKU twice", param_hint="SKU=PIECES")
    stack = chosen_stack()
    kept = stock.seed(stack, wanted)
    if kept:
        output.say(f"Already stocked, not changed: {', '.join(kept)}")
    _show(stack, kept)


def _changing(
    change: Callable[[Stack, str, int, str], stock.Changed], minimum: int, meaning: str
) -> Callable[..., None]:
    """Return the command that changes the stock of a SKU. minimum, meaning: describe the pieces argument."""

    def run(
        sku: Sku,
        pieces: Annotated[int, typer.Argument(min=minimum, max=stock.MAX_PIECES, help=meaning)],
        reason: Reason,
    ) -> None:
        _changed(change(chosen_stack(), sku, pieces, reason))

    return run


_ADD = "Add pieces to the stock of a SKU. The same command again changes nothing: name the delivery in --reason."
_SET = "Set the pieces on hand of a SKU, without the reserved ones. The same command again changes nothing."
app.command("add", help=_ADD)(_changing(stock.add, 1, "How many came in."))
app.command("set", help=_SET)(_changing(stock.set_to, 0, "How many are on hand, by a count."))


@app.command()
def shard(
    sku: Sku,
    into: Annotated[
        int, typer.Option(min=1, max=sharding.MAX_SHARDS, help="How many rows hold the stock; 1 for an ordinary SKU.")
    ],
) -> None:
    """Spread the stock of a SKU over rows, so that many orders can take it at once. Orders continue meanwhile.

    Safe to stop and to repeat. Again with the same number, it levels the rows.
    """
    rows = sharding.reshard(chosen_stack(), sku, into)
    document = {"sku": sku, "on_hand": rows.total, "shards": len(rows.on_hand), "by_shard": list(rows.on_hand)}
    output.show(document, f"{sku}: {rows.total} pieces on hand in {into} {'row' if into == 1 else 'rows'}.")


@app.command()
def history(
    sku: Annotated[str, typer.Argument(help="Default: all.")] = "",
) -> None:
    """List the changes by 'add' and 'set', the oldest first: who, when, why, how many."""
    columns = ["at", "sku", "kind", "pieces", "was", "is", "by", "reason"]
    output.listing("Changes of stock", "changes", stock.changes(chosen_stack(), sku), columns)


def _changed(change: stock.Changed) -> None:
    row = change.row
    moved = change.moved
    if change.again:
        moved = f"Changed nothing: made before, at {row['at']} by {row['by']}. Another one needs another --reason"
    output.show({"change": row, "again": change.again}, f"{moved}.")


def _show(stack: Stack, kept: list[str]) -> None:
    records = stock.listed(stack)
    output.show({"stock": records, "not_changed": kept}, views.stock(records))


def _pieces(text: str) -> tuple[str, int]:
    sku, _, count = text.partition("=")
    try:
        if sku and (number := whole_number(count)) >= 0:
            return sku, number
    except ValueError:
        pass
    message = f"{text!r} is not SKU=PIECES with a number in digits from 0 to 9"
    raise typer.BadParameter(message, param_hint="SKU=PIECES")
