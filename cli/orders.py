"""`stepwise orders`: place, list, show, recover, replay."""

from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Annotated

import typer

from operations import order_list
from operations.stack import STACK_NAME

from . import order_commands, output, replay_command, shapes
from .options import Last, OnAws, Port, Since, StackName, check_filters, chosen_stack, moment

app = typer.Typer(help="Orders: place, list, show, recover, replay.", no_args_is_help=True)


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
    port: Port = 4566,
    aws: OnAws = False,
    name: StackName = STACK_NAME,
) -> None:
    """List orders, the newest first, by the index of their day; --failed by Step Functions' list of the status."""
    check_filters(status, failed)
    begin = moment(since) or datetime.now(UTC) - timedelta(days=1)
    stack = chosen_stack(port, aws, name)
    if failed:
        found = order_list.failed(stack, begin, last)
        records = [{"order_id": order_list.order_of(one), **shapes.run(one)} for one in found]
        by_hand = ["name"] if any(one["order_id"] != one["name"] for one in records) else []
        columns = ["order_id", *by_hand, "status", "started_at", "error", "cause"]
    else:
        records = [shapes.order_row(row) for row in order_list.listed(stack, begin, status, last)]
        columns = ["order_id", "status", "total", "currency", "created_at", "standing"]
    output.listing("Orders", "orders", records, columns)


app.command("place")(order_commands.place_order)
app.command("show")(order_commands.show)
app.command("recover")(order_commands.recover)
app.command("replay")(replay_command.replay)
