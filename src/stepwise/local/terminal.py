"""The door of output: all output of a program passes here, so that no terminal obeys control characters in data."""

import io
import os
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from typing import Any, TextIO, cast

# As in runtime.text for deployed code, which the tools do not import; tests/contract/test_text.py compares them.
UNSAFE_TO_PRINT = re.compile(
    "[\x00-\x1f\x7f-\x9f\xad\u034f\u0600-\u0605\u061c\u06dd\u070f\u0890-\u0891\u08e2\u115f-\u1160\u17b4-\u17b5"
    "\u180e\u200b\u200e-\u200f\u2028-\u202e\u2060-\u206f\u2800\u3164\ud800-\uf8ff\ufdd0-\ufdef\ufeff\uffa0"
    "\ufff0-\ufffb\ufffe-\uffff\U000110bd\U000110cd\U00013430-\U0001343f\U00013441-\U00013442\U00016fe4"
    "\U0001bca0-\U0001bca3\U0001d159\U0001d173-\U0001d17a\U0001fffe-\U0001ffff\U0002fffe-\U0002ffff"
    "\U0003fffe-\U0003ffff\U0004fffe-\U0004ffff\U0005fffe-\U0005ffff\U0006fffe-\U0006ffff"
    "\U0007fffe-\U0007ffff\U0008fffe-\U0008ffff\U0009fffe-\U0009ffff\U000afffe-\U000affff"
    "\U000bfffe-\U000bffff\U000cfffe-\U000cffff\U000dfffe-\U000e00ff\U000e01f0-\U000e0fff"
    "\U000efffe-\U0010ffff]"
)
"""Matches a character that controls a terminal, reorders its text or is hidden, including tab and line feed."""
BROKEN_PIPE = 141
"""Exit code if the reader of the output, such as `head`, has ended: 128 and the number of SIGPIPE."""


def _escape(one: str) -> str:
    code = ord(one)
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}" if code < 0x10000 else f"\\U{code:08x}"


def readable(text: str, escape: Callable[[str], str] = _escape) -> str:
    r"""Escape each character that a terminal obeys or hides, except line ends: `\x1b`."""
    if not isinstance(text, str):
        raise TypeError("text is expected")
    if text.isascii() and text.isprintable():
        return text
    return UNSAFE_TO_PRINT.sub(lambda found: found[0] if found[0] in "\t\n" else escape(found[0]), text)


class Door(io.TextIOBase):
    """A text stream.

    styled: writes text that a program has styled, and whose data it has made readable, to the same place.
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
        # Libraries probe a stream by writing nothing.
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
            # The rest of the buffer would fail again at the end of the process.
            with suppress(OSError, ValueError):
                os.dup2(os.open(os.devnull, os.O_WRONLY), self.fileno())
            if isinstance(error, BrokenPipeError):
                raise SystemExit(BROKEN_PIPE) from None
            raise


def install() -> None:
    """Replace standard output and standard error of this process by doors."""
    sys.stdout, sys.stderr = door(sys.stdout), door(sys.stderr)
    # Python styles a traceback before it writes it.
    os.environ["PYTHON_COLORS"] = "0"


def door(stream: TextIO | None) -> Any:
    """Wrap the stream in a door. Without a stream, as after `>&-`, output is dropped."""
    if isinstance(stream, Door):
        return stream
    return Door(stream if stream is not None else cast("TextIO", open(os.devnull, "w")))
