"""`stepwise orders`: place, list, show, recover, replay, audit."""

from dataclasses import asdict
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from stepwise.local.drawing import Text
from stepwise.operations import audit, order_list

from . import hints, order_commands, output, replay_command, shapes
from .options import Last, Since, check_filters, chosen_stack, moment

app = typer.Typer(help="Orders: place, list, show, recover, replay, audit.", no_args_is_help=True)


class Status(StrEnum):
    NEW = "New"
    CONFIRMED = "Confirmed"
    PENDING = "Pending"


@app.command("list")
def list_orders(
    status: Annotated[
        Status | None,
        typer.Option(help="Only those with this status. Pending: failed; undone, unless `attention` lists it."),
    ] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Sagas that failed, with the cause; also those that saved no order.")
    ] = False,
    since: Since = "24h",
    last: Last = 20,
) -> None:
    """List orders, the newest first, by the index of their day; --failed by Step Functions' list of the status."""
    check_filters(status, failed)
    begin = moment(since) or datetime.now(UTC) - timedelta(days=1)
    stack = chosen_stack()
    if failed:
        found = order_list.failed(stack, begin, last)
        records = [{"order_id": order_list.order_of(one), **shapes.run(one)} for one in found]
        by_hand = ["name"] if any(one["order_id"] != one["name"] for one in records) else []
        columns = ["order_id", *by_hand, "status", "started_at", "error", "cause"]
    else:
        records = [shapes.order_row(row) for row in order_list.listed(stack, begin, status, last)]
        columns = ["order_id", "status", "total", "currency", "created_at", "standing"]
    output.listing("Orders", "orders", records, columns)


@app.command("audit")
def audit_orders(since: Since = "8d") -> None:
    """Find rows that contradict each other. Exits with 1 if there are any.

    Reads the orders since a time, and their payments and reservations; then all payments and reservations, of any age,
    that are in effect, and their orders; then the sagas since that time, to find orders that a restore has lost.
    """
    begin = moment(since) or datetime.now(UTC) - timedelta(days=8)
    found = [asdict(one) for one in audit.contradictions(chosen_stack(), begin)]
    if found:
        remedy = Text("Put the lost row back, or write an edited one back: docs/deploy.md, Put back one row.")
        commands = dict.fromkeys(hints.command("show", one["order_id"]) for one in found)
        output.listing("Contradictions", "contradictions", found, ["order_id", "problem"], *map(Text, commands), remedy)
    else:
        output.show({"contradictions": []}, "No order contradicts its payment or its reservation.")
    raise typer.Exit(1 if found else 0)


app.command("place")(order_commands.place_order)
app.command("show")(order_commands.show)
app.command("recover")(order_commands.recover)
app.command("replay")(replay_command.replay)
