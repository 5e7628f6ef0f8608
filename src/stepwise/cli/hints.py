"""Suggested commands. Each can be copied and run: it chooses the same stack as the command that printed it."""

import os
import shlex
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import typer

from stepwise import STACK_NAME, STACK_ON_AWS
from stepwise.local.project import SOURCES, VARIABLE
from stepwise.local.terminal import readable
from stepwise.operations.errors import Word

DEFAULT_PORT = 4566
PROGRAM, PORT = "STEPWISE_PROGRAM", "STEPWISE_PORT"
"""Environment variables: how ./stepwise was called, and the port for commands without --port."""

USUAL_STACKS = f"{STACK_NAME}; with --aws {STACK_ON_AWS}"
# Commands for the local stack only.
_LOCAL = frozenset({"start", "stop"})


@dataclass(slots=True)
class Chosen:
    """The values of --port, --aws and --stack in this call."""

    port: int = DEFAULT_PORT
    aws: bool = False
    stack: str | None = None

    @property
    def stack_name(self) -> str:
        return usual_stack(aws=self.aws) if self.stack is None else self.stack


chosen = Chosen()


def note(parameter: typer.CallbackParam, value: Any) -> Any:
    """Note the option, as the callback of --port, --aws and --stack.

    It also runs for defaults, so calls leave no state.
    """
    setattr(chosen, str(parameter.name), value)
    return value


def command(*words: Word) -> str:
    """Return a command for the same stack: `command("recover", "o-1")` may be `./stepwise recover o-1 --port 4567`.

    words: those of the command and its arguments; an option is a tuple, with its value, if it has one.
    """
    return _joined(words, options(port=chosen.port) if words[0] in _LOCAL else options(**asdict(chosen)))


def stopping(port: int) -> str:
    """Return the command that stops the local stack on another port."""
    return _joined(["stop"], [("--port", str(port))])


def usual_stack(*, aws: bool) -> str:
    return STACK_ON_AWS if aws else STACK_NAME


def options(port: int = DEFAULT_PORT, aws: bool = False, stack: str | None = None) -> list[Word]:
    """Return the options that choose the same stack in another command; none for the default."""
    usual = port == DEFAULT_PORT and os.environ.get(PORT, str(DEFAULT_PORT)) == str(DEFAULT_PORT)
    where: list[Word] = [("--aws",)] if aws else [] if usual else [("--port", str(port))]
    return where + ([] if stack in {None, usual_stack(aws=aws)} else [("--stack", stack)])


def _joined(words: Sequence[Word], more: Sequence[Word]) -> str:
    """Join the words as a shell reads them: an argument that looks like an option comes last, behind `--`."""
    given = [one for one in words if isinstance(one, str)]
    options = [part for one in (*words, *more) if not isinstance(one, str) for part in _option(*one)]
    behind = any(one.startswith("-") for one in given)
    # The words of the command itself come before its options.
    first = next((index for index, one in enumerate(given) if one.startswith("-")), len(given))
    program = os.environ.get(PROGRAM) or ("./stepwise" if SOURCES.name == "src" else "stepwise")
    project = ["--project", named] if (named := os.environ.get(VARIABLE)) else []
    parts = [program, *project, *given[:first], *options, *(["--", *given[first:]] if behind else [])]
    return " ".join(map(_quoted, parts))


def _option(name: str, value: str | None = None) -> list[str]:
    if value is None:
        return [name]
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _quoted(word: str) -> str:
    """Quote a word for bash and zsh, in characters that a terminal shows."""
    if readable(word) == word and "\n" not in word:
        return shlex.quote(word)
    plain = (chr(one) if 0x20 <= one < 0x7F and one not in b"'\\" else f"\\x{one:02x}" for one in os.fsencode(word))
    return f"$'{''.join(plain)}'"
