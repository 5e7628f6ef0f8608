"""`stepwise logs`: the functions' log lines about an order."""

import sys
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any

import typer

from stepwise.operations import executions, logs
from stepwise.operations.orders import require_id
from stepwise.operations.stack import Stack

from . import hints, output
from .options import Since, chosen_stack, moment

# Fields of every line that the columns before them show already.
_USUAL = ("timestamp", "level", "message", "logger", "requestId", "order_id", "stackTrace", "location")
_CLOCKS_DIFFER = timedelta(minutes=1)


def show_logs(
    order_id: Annotated[str, typer.Argument(help="The order's id.")],
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Keep printing new lines until Ctrl-C.")] = False,
    since: Since = "",
) -> None:
    """Show the log lines for an order, across all functions, by time; from its start, or the last 24 hours."""
    require_id(order_id)
    begin = moment(since)
    stack, name = chosen_stack(), hints.chosen.stack_name
    begin = begin or _began(stack, order_id)
    if follow:
        _follow(stack, name, order_id, begin)
    lines = logs.of_order(stack, name, order_id, begin)
    output.document_only({"order_id": order_id, "lines": [_document(line) for line in lines]})
    for line in lines:
        output.say(_text(line))
    if not lines:
        output.say(f"No line since {begin:%Y-%m-%d %H:%M}Z. Lines may arrive a few seconds late.")


def _follow(stack: Stack, name: str, order_id: str, begin: datetime) -> None:
    """Print new lines. With --json, one object per line, because there is no end."""
    try:
        for lines in logs.follow(stack, name, order_id, begin):
            for line in lines:
                text = output.json_text(_document(line), default=str) if output.is_json() else _text(line)
                sys.stdout.write(f"{text}\n")
            sys.stdout.flush()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _began(stack: Stack, order_id: str) -> datetime:
    saga = executions.find(stack, "OrderSaga", order_id)
    if saga and saga.started:
        return saga.started - _CLOCKS_DIFFER
    return datetime.now(UTC) - timedelta(days=1)


def _document(line: logs.Line) -> dict[str, Any]:
    return {"at": line.at.isoformat(timespec="milliseconds"), "function": line.function, **line.fields}


def _text(line: logs.Line) -> str:
    fields = line.fields
    more = " ".join(f"{name}={value}" for name, value in fields.items() if name not in _USUAL)
    at = f"{line.at.astimezone():%H:%M:%S}.{line.at.microsecond // 1000:03}"
    return f"{at} {line.function} {fields.get('level', '')} {fields.get('message', '')} {more}".rstrip()
