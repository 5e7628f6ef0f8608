"""Options of several commands, and the stack that a call uses."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from stepwise.local.emulator import emulator
from stepwise.operations import stack
from stepwise.operations.values import EARLIEST, utc_time

from . import hints, output

if TYPE_CHECKING:
    from stepwise.local.emulator.emulator import Emulator
    from stepwise.operations.stack import Stack

_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1)}

Yes = Annotated[bool, typer.Option("--yes", help="Do not ask.")]
Since = Annotated[str, typer.Option(help="A day (YYYY-MM-DD), a time (ISO 8601), or how long ago: 90m, 24h, 7d.")]
Last = Annotated[int, typer.Option(min=1, max=1000, help="How many.")]


def _choose(value: bool) -> bool:
    output.choose(as_json=value)
    return value


def shared(
    port: Annotated[
        int, typer.Option(envvar=hints.PORT, min=1024, max=65535, help="Port of the local stack.", callback=hints.note)
    ] = hints.DEFAULT_PORT,
    aws: Annotated[
        bool, typer.Option("--aws", help="Use the stack in the AWS account of your settings.", callback=hints.note)
    ] = False,
    stack: Annotated[
        str | None,
        typer.Option("--stack", help="Name of the stack.", show_default=hints.USUAL_STACKS, callback=hints.note),
    ] = None,
    json: Annotated[
        bool, typer.Option("--json", help="Print JSON; docs/cli.md has its shape.", callback=_choose)
    ] = False,
) -> None:
    """Declares the options that grammar gives to most commands."""


def moment(since: str) -> datetime | None:
    """Read the time given by --since, in UTC; a day begins in UTC. None without it."""
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
    """Check the filters of a list: --failed implies statuses. Raises BadParameter."""
    if failed and status:
        raise typer.BadParameter("pass either --status or --failed", param_hint="--failed")


def chosen_stack() -> "Stack":
    """Return the stack of --port, --aws and --stack. Raises StackNotFound."""
    port, name = hints.chosen.port, hints.chosen.stack_name
    if hints.chosen.aws:
        return stack.Stack.on_aws(name, region_of(name))
    return stack.Stack.local(f"http://127.0.0.1:{port}", name, emulator.endpoints_beside(port))


def region_of(name: str) -> str | None:
    """Return the Region of a stack that is a stage in samconfig.toml. Raises StackNotFound if that is invalid."""
    from stepwise.deployment.stages import stage_of

    try:
        return stage_of(name).region
    except ValueError as error:
        raise stack.StackNotFound(f"samconfig.toml: {error}") from error


def running_emulator() -> "Emulator":
    """Return the emulator at --port. Raises StackNotFound."""
    running = emulator.running(hints.chosen.port)
    if running is None:
        raise stack.StackNotFound(f"nothing is running on port {hints.chosen.port}", see=("start",))
    return running
