"""The door of output: whatever a program prints passes here, so that no terminal obeys the data in it."""

import io
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO, cast

from runtime.text import UNSAFE_TO_PRINT

BROKEN_PIPE = 141
"""Exit code if the reader of the output, such as `head`, has ended: 128 and the number of SIGPIPE."""


def _escape(one: str) -> str:
    code = ord(one)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def readable(text: str, escape: Callable[[str], str] = _escape) -> str:
    """The text with an escape, such as `\\x1b`, for each character that a terminal obeys or hides, but line ends."""
    if not isinstance(text, str):
        raise TypeError("text is expected")
    if text.isascii() and text.isprintable():
        return text
    return UNSAFE_TO_PRINT.sub(lambda found: found[0] if found[0] in "\t\n" else escape(found[0]), text)


class Door(io.TextIOBase):
    """A text stream. styled: writes to the same place what a program has styled, whose data it has made readable.

    A character that the stream's encoding lacks is written as an escape. A reader that has ended ends the program.
    """

    def __init__(self, stream: TextIO, shown: Callable[[str], str] = readable) -> None:
        self._stream, self._shown = stream, shown
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")

    @property
    def styled(self) -> "Door":
        return Door(self._stream, str)

    @property
    def encoding(self) -> str:  # type: ignore[override]
        return getattr(self._stream, "encoding", None) or "utf-8"

    @property
    def errors(self) -> str:  # type: ignore[override]
        return "backslashreplace"

    def write(self, text: str) -> int:
        # A library finds out what a stream takes by writing nothing.
        if shown := self._shown(text):
            self._sent(lambda: self._stream.write(shown))
        return len(text)

    def data(self, text: str) -> None:
        """Write data for a program: unchanged and in UTF-8 to a file or a pipe. A terminal gets it readable."""
        if self.isatty() or not isinstance(self._stream, io.TextIOWrapper):
            self._sent(lambda: self._stream.write(readable(text) if self.isatty() else text))
            return
        self.flush()
        self._sent(lambda: self._stream.buffer.write(text.encode()))

    def flush(self) -> None:
        self._sent(self._stream.flush)

    def close(self) -> None:
        """Leave the stream open: it belongs to the process, and outlives this object."""

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return self._stream.isatty()

    def fileno(self) -> int:
        return self._stream.fileno()

    def _sent(self, send: Callable[[], Any]) -> None:
        try:
            send()
        except OSError as error:
            # What is left in the buffer would fail again at the end of the process.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                raise SystemExit(BROKEN_PIPE) from None
            raise


def install() -> None:
    """From now on, standard output and standard error of this process are doors."""
    sys.stdout, sys.stderr = door(sys.stdout), door(sys.stderr)
    # Python styles a traceback before it writes it.
    os.environ["PYTHON_COLORS"] = "0"


def door(stream: TextIO | None) -> Any:
    """The stream as a door. Without a stream, as after `>&-`, what is written is dropped."""
    if isinstance(stream, Door):
        return stream
    return Door(stream if stream is not None else cast("TextIO", open(os.devnull, "w")))
