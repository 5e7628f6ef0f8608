"""`stepwise console`: the web console, on this machine only."""

import threading
import time
from typing import TYPE_CHECKING, Annotated

import typer

from stepwise.local.emulator import emulator

from . import console_process, hints, output
from .options import chosen_stack

if TYPE_CHECKING:
    from stepwise.console.server import Server
    from stepwise.local.emulator.emulator import Emulator

# Offset from the stack's port, so that two stacks have two consoles.
_ABOVE, _MAX_PORT = 4000, 65535
_PAUSE = 0.5


def console(
    allow_changes: Annotated[
        bool, typer.Option("--allow-changes", help="Allow changes with --aws, too; without it the console only reads.")
    ] = False,
    listen: Annotated[
        int | None,
        typer.Option(min=0, max=_MAX_PORT, help="Port of the console; by default 4000 above --port, 0: a free one."),
    ] = None,
    beside: Annotated[bool, typer.Option("--beside", help="End when the local stack ends.")] = False,
) -> None:
    """Serve the web console of a stack at 127.0.0.1, until Ctrl-C."""
    from stepwise.console.server import PortTaken, Server
    from stepwise.console.settings import Settings

    port, aws = hints.chosen.port, hints.chosen.aws
    changes = allow_changes or not aws
    settings = Settings(chosen_stack, hints.command, aws, changes=changes, stack_name=hints.chosen.stack_name)
    wanted = default_listen(port) if listen is None else listen
    running = emulator.running(port) if beside else None
    try:
        server = Server(settings, wanted)
    except PortTaken:
        if running is None:
            raise
        server = Server(settings, 0)
    if running:
        threading.Thread(target=_end_with, args=(running, server), daemon=True).start()
        console_process.write(running, server.address)
    output.document_only({"console": server.address})
    output.say(f"Console: {server.address} (Ctrl-C stops it)")
    server.serve()


def default_listen(port: int) -> int:
    """Return the port of a local stack's console."""
    return port + _ABOVE if port + _ABOVE <= _MAX_PORT else port - _ABOVE


def _end_with(running: "Emulator", server: "Server") -> None:
    while emulator.running(running.port) == running:
        time.sleep(_PAUSE)
    server.stop()
