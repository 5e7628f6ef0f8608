"""`stepwise invoke`: one function in a container, as `sam local invoke` runs it."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from stepwise.local.containers import containers

from . import output
from .options import running_emulator


def invoke(
    event: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="As in events/.")],
    function: Annotated[
        str, typer.Option(help="Logical id of the function, if the file is not named after its handler.")
    ] = "",
    template: Annotated[
        Path | None, typer.Option(exists=True, dir_okay=False, help="That of `start --template`.")
    ] = None,
) -> None:
    """Run one function with an event in Docker, by `sam local invoke`, on the local stack. Exits with 1 if it fails.

    The result goes to standard output, the function's log to standard error.
    """
    running = running_emulator()
    with containers(running, template and template.resolve()) as started:
        answer = started.invoke(function or started.function(event), event)
    sys.stderr.write(answer.log)
    found = {"errorType": answer.error, "errorMessage": answer.message} if answer.error else answer.result
    sys.stdout.write(output.json_text(found) + "\n")
    raise typer.Exit(1 if answer.error else 0)
