"""What a command shows while it waits: a spinner on a terminal, otherwise a line every ten seconds on stderr."""

import sys
import threading
import time
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

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
    """Whether a person watches standard output."""
    return views.console().is_terminal and not output.is_json()


def waiting(text: str) -> AbstractContextManager[Any]:
    """A context whose value has `update(text)`."""
    return views.console().status(text) if on_terminal() else Lines(text)
