"""Suggested commands. Each can be copied and run: it chooses the same stack as the command that printed it."""

import os
import shlex
from typing import Any

import typer

from operations.stack import STACK_NAME

DEFAULT_PORT = 4566
PROGRAM, PORT = "STEPWISE_PROGRAM", "STEPWISE_PORT"
"""Variables: how ./stepwise was called, and the port for commands without --port."""

# Commands for the local stack only.
_LOCAL = frozenset({"start", "stop"})
_chosen: dict[str, Any] = {}


def note(parameter: typer.CallbackParam, value: Any) -> Any:
    """Callback of the options --port, --aws and --stack. It also runs for defaults, so nothing stays from a call."""
    _chosen[str(parameter.name)] = value
    return value


def command(*words: str) -> str:
    """A command for the same stack: `command("recover", "o-1")` may be `./stepwise recover o-1 --port 4567`."""
    program = os.environ.get(PROGRAM) or "./stepwise"
    chosen = {"port": _chosen.get("port", DEFAULT_PORT)} if words[0] in _LOCAL else _chosen
    return shlex.join([program, *words, *options(**chosen)])


def stopping(port: int) -> str:
    """The command that stops the local stack on another port."""
    return shlex.join([os.environ.get(PROGRAM) or "./stepwise", "stop", "--port", str(port)])


def options(port: int = DEFAULT_PORT, aws: bool = False, name: str = STACK_NAME) -> list[str]:
    """The options that choose the same stack in another command; none for the default."""
    usual = port == DEFAULT_PORT and os.environ.get(PORT, str(DEFAULT_PORT)) == str(DEFAULT_PORT)
    where = ["--aws"] if aws else [] if usual else ["--port", str(port)]
    return where + ([] if name == STACK_NAME else ["--stack", name])
