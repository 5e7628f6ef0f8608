"""An object that is read by ranges, as the file that `zipfile` needs."""

import io
from collections.abc import Callable

from .archive_errors import ArchiveCutShort, CorruptDirectory

type Read = Callable[[int, int], bytes]
"""(offset, length) -> these bytes of the object. length is never 0, and the range never passes the end."""

WINDOW = 8 * 1024 * 1024
MAX_READ = 4 * 1024 * 1024
"""Bytes of one read. Larger than the central directory of 1,000 entries; a lie about its size is refused here."""


class RangedFile(io.RawIOBase):
    """Keeps one window of the object in memory: reading on from byte to byte fetches each byte once."""

    def __init__(self, read: Read, size: int) -> None:
        self._fetch, self.size = read, size
        self._position = self._start = 0
        self._window = b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._position

    def seek(self, offset: int, whence: int = io.SEEK_SET, /) -> int:
        """Raises OSError for a place before the start, as a file does."""
        position = offset + {io.SEEK_SET: 0, io.SEEK_CUR: self._position, io.SEEK_END: self.size}[whence]
        if position < 0:
            raise OSError("a place before the start of the file")
        self._position = position
        return position

    def read(self, length: int = -1, /) -> bytes:
        """Fewer bytes only at the end of the object. Raises ArchiveCutShort, or CorruptDirectory over MAX_READ."""
        end = self.size if length < 0 else min(self._position + length, self.size)
        if end - self._position > MAX_READ:
            raise CorruptDirectory(f"the central directory is over {MAX_READ} bytes; zip the files again")
        pieces = []
        while self._position < end:
            pieces.append(self._piece(end))
            self._position += len(pieces[-1])
        return b"".join(pieces)

    def _piece(self, end: int) -> bytes:
        if not self._start <= self._position < self._start + len(self._window):
            self._window = b""  # Never two windows at once.
            self._start = self._position
            self._window = self._fetch(self._position, min(WINDOW, self.size - self._position))
            if not self._window:
                raise ArchiveCutShort(f"no bytes at {self._position} of {self.size}")
        return self._window[self._position - self._start : end - self._start]
