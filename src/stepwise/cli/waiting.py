"""Waiting: a spinner on a terminal, otherwise a line every ten seconds on stderr; Ctrl-C ends it."""

import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace, TracebackType
from typing import Any

import typer

from stepwise.local.drawing import Text

from . import output, views

SECONDS = 10.0


class Lines:
    """Writes the newest text every ten seconds."""

    def __init__(self, text: str) -> None:
        self._text, self._began = text, time.monotonic()
        self._ended = threading.Event()
        self._writer = threading.Thread(target=self._write, daemon=True)

    def update(self, text: Any) -> None:
        self._text = str(text)

    def __enter__(self) -> "Lines":
        self._writer.start()
        return self

    def __exit__(
        self, _kind: type[BaseException] | None, _error: BaseException | None, _trace: TracebackType | None
    ) -> None:
        self._ended.set()
        self._writer.join()

    def _write(self) -> None:
        while not self._ended.wait(SECONDS):
            sys.stderr.write(f"{time.monotonic() - self._began:.0f} s: {self._text}\n")
            sys.stderr.flush()


def on_terminal() -> bool:
    """True if a person watches standard output."""
    return views.console().is_terminal and not output.is_json()


@contextmanager
def waiting(text: str) -> Iterator[Any]:
    """Show a spinner. Yields an object with `update(text)`."""
    if not on_terminal():
        with Lines(text) as lines:
            yield lines
        return
    with views.console().status(Text(text)) as status:
        yield SimpleNamespace(update=lambda more: status.update(Text(more) if isinstance(more, str) else more))


@contextmanager
def interrupted(message: str) -> Iterator[None]:
    """Print how to come back on Ctrl-C, and exit with 130."""
    try:
        yield
    except KeyboardInterrupt:
        views.console(stderr=True).print(f"\n{message}")
        raise typer.Exit(130) from None
