"""Options of most commands: which stack to use."""

import re
from datetime import UTC, datetime, timedelta
from typing import Annotated

import typer

from stepwise.local.emulator import emulator
from stepwise.operations.stack import Stack
from stepwise.operations.values import EARLIEST, utc_time

from . import hints

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}
DEFAULT_PORT = hints.DEFAULT_PORT

Port = Annotated[
    int,
    typer.Option(envvar=hints.PORT, min=1024, max=65535, help="Port of the local stack.", callback=hints.note),
]
OnAws = Annotated[
    bool, typer.Option("--aws", help="Use the stack in the AWS account of your settings.", callback=hints.note)
]
StackName = Annotated[str, typer.Option("--stack", help="Name of the stack.", callback=hints.note)]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]


Since = Annotated[str, typer.Option(help="A day (YYYY-MM-DD), a time (ISO 8601), or how long ago: 90m, 24h, 7d.")]
Last = Annotated[int, typer.Option(min=1, max=1000, help="How many.")]


def moment(since: str) -> datetime | None:
    """Read the time that --since names, in UTC; a day begins in UTC. None without it."""
    ago = re.fullmatch(r"([0-9]{1,4})([mhd])", since)
    try:
        if ago:
            return datetime.now(UTC) - int(ago[1]) * _UNITS[ago[2]]
        begin = utc_time(since) if since else None
    except ValueError:
        raise typer.BadParameter(
            f"{since!r} is no day (YYYY-MM-DD), time (ISO 8601) or duration (24h)", param_hint="--since"
        ) from None
    if begin and begin < EARLIEST:
        raise typer.BadParameter(f"{since!r} is before 1970, when no stack ran", param_hint="--since")
    return begin


def check_filters(status: object, failed: bool) -> None:
    """Of a list: --failed names statuses itself. Raises BadParameter."""
    if failed and status:
        raise typer.BadParameter("pass either --status or --failed", param_hint="--failed")


def chosen_stack(port: int, aws: bool, name: str) -> Stack:
    """A stack at a local port, or one on AWS. Raises StackNotFound."""
    return Stack.on_aws(name) if aws else Stack.local(f"http://127.0.0.1:{port}", name, emulator.endpoints_beside(port))
