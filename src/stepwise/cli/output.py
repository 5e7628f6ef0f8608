"""The output of a command: a table for a person or, with --json, one document, in the shape given by docs/cli.md."""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import partial
from typing import TYPE_CHECKING, Any

import typer

from stepwise.local.terminal import door, readable

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

_state = {"json": False}


def choose(*, as_json: bool) -> None:
    """Choose JSON or tables as the output from now on."""
    _state["json"] = as_json


def is_json() -> bool:
    """True if standard output gets one JSON document, and nothing else."""
    return _state["json"]


def show(document: Mapping[str, Any], *drawn: "RenderableType") -> None:
    """Print a result: the document with --json, otherwise the drawing. Called once per command.

    document: plain values. A field may be added to it later, but none is removed or changes its meaning.
    """
    document_only(document)
    if not is_json():
        out = _screen()
        for one in drawn:
            out.print(one)


def document_only(document: Mapping[str, Any]) -> None:
    """Print the document with --json; output for people is printed elsewhere."""
    if is_json():
        sys.stdout.write(json_text(document, indent=2, default=_plain) + "\n")


def json_text(value: Any, *, indent: int | None = None, default: Callable[[Any], Any] | None = None) -> str:
    """Write JSON that is safe on a terminal: control characters and unencodable characters are escaped."""
    exact = _exact()
    text = exact(value, ensure_ascii=False, indent=indent, default=default)
    try:
        text.encode(sys.stdout.encoding or "utf-8")
    except UnicodeEncodeError:
        return exact(value, indent=indent, default=default)
    return readable(text, lambda one: json.dumps(one)[1:-1])


def _exact() -> Callable[..., str]:
    """Return the layer's JSON writer, for which a Decimal is a number. Documents of other applications have none."""
    # Invalid calls and --help need nothing of the layer.
    try:
        from idempotency.payloads import json_text as exact
    except ModuleNotFoundError:
        return partial(json.dumps, allow_nan=False)
    return exact


def listing(title: str, name: str, records: Sequence[Mapping[str, Any]], columns: Sequence[str], *more: Any) -> None:
    """Print records of one kind: with --json all their fields, in a list of this name; otherwise a table of columns.

    more: drawn below the table.
    """
    from . import views

    show({name: list(records)}, views.records(title, columns, records), *more)


def ask(question: str) -> None:
    """Ask for confirmation, on standard error, which a pipe leaves to the terminal.

    Raises Abort unless a person says yes.
    """
    typer.confirm(question, abort=True, err=True)


def data(text: str) -> None:
    """Print a part of a document that is not JSON: unchanged to a file or a pipe."""
    door(sys.stdout).data(text)


def say(message: str) -> None:
    """Print a sentence for a person; nothing with --json."""
    if not is_json():
        _screen().print(message)


def _screen() -> "Console":
    # Rich takes a third of the time of a short command, and JSON needs none of it.
    from . import views

    return views.console()


def _plain(value: Any) -> Any:
    """Convert times to UTC, and enumerations to text."""
    if isinstance(value, datetime):
        return value.astimezone(UTC).isoformat()
    if isinstance(value, set | frozenset | tuple):
        return sorted(value)
    return str(value)
