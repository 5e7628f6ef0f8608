"""`stepwise attention`: the inbox of on-call engineers."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from stepwise.local.drawing import Text
from stepwise.operations import inbox
from stepwise.operations.inbox import Concern

from . import hints, output
from .options import chosen_stack


def attention(
    check: Annotated[bool, typer.Option("--check", help="Exit with 1 if something needs attention.")] = False,
) -> None:
    """List what needs attention, across all contexts, each with its cause and the next command to run."""
    found = [_record(one) for one in inbox.concerns(chosen_stack(), hints.chosen.stack_name)]
    if found:
        columns = ["context", "id", "problem", "cause", "since"]
        # Below the table, in whole lines: they are copied.
        commands = [Text(one["command"]) for one in found]
        output.listing("Needs attention", "attention", found, columns, *commands)
    else:
        output.show({"attention": []}, "Nothing needs attention.")
    raise typer.Exit(1 if check and found else 0)


def _record(one: Concern) -> dict[str, Any]:
    record = asdict(one)
    return {**record, "command": hints.command(*record.pop("see"))}
