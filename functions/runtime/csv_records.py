"""Finds where each record of a CSV stream begins and ends, in constant memory and one pass, and reads its cells.

A record ends where Python's csv module ends it (RFC 4180; lone carriage returns are accepted). Its cells are
read as that module reads them when it is strict: nothing may follow a closing quote. In an unquoted cell, it is text.
In UTF-8 and cp932, only these characters themselves contain the byte of a comma, a quote or a line end.
"""

import csv
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal, TextIO

from .encodings import UTF_8, Encoding, decoded
from .text import REQUIRED, problem

_BOM = b"\xef\xbb\xbf"
UTF_16 = (b"\xff\xfe", b"\xfe\xff")
"""Byte order marks of UTF-16."""
# Possessive: an incomplete field must not match in part.
_FIELD = rb'(?:"(?:[^"]++|"")*+"[^,\r\n]*+|[^",\r\n][^,\r\n]*+|)'
_RECORD = re.compile(rb"(%b(?:,%b)*+)(?:\r\n?|\n)" % (_FIELD, _FIELD))
_FIELD_END = re.compile(rb"[,\r\n]")
_LINE_END = re.compile(r"\r\n?|\n")
_QUOTE, _COMMA = b'"'[0], b","[0]
# Quoted: text, closing quote, text after it. The end of the record is known, so no line end ends the cell.
_CELL = re.compile(r'(?:"((?:[^"]++|"")*+)("?+)([^,]*+)|([^,]*+))(,|\Z)', re.DOTALL)
# In UTF-8 and cp932, a record that starts with one of these bytes starts with a visible character.
_VISIBLE_START = frozenset(b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")
# A spreadsheet runs a cell that starts with one of these; in Japanese, also with a full-width one.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n", "\uff1d", "\uff0b", "\uff0d", "\uff20")


type Flaw = Literal["open", "space", "text"]
"""An unclosed quote; or spaces or text between a closing quote and the next comma."""


class Utf16Found(ValueError):
    """The file starts with the byte order mark of UTF-16."""


class Malformed(ValueError):
    """A record with malformed quotes. cell: the first malformed one, from 1. cells: as far as they can be told.

    A malformed cell keeps its quotes, as in the file, unless only spaces follow them.
    """

    def __init__(self, flaw: Flaw, cell: int, cells: list[str]) -> None:
        super().__init__(f"cell {cell}: {flaw}")
        self.flaw, self.cell, self.cells = flaw, cell, cells


@dataclass(frozen=True, slots=True)
class Record:
    """One record of the file, without its line end. offset, length: in bytes, from the start of the file.

    data: None if it is longer than the reader keeps. closed: False for a quote that is open at the end of the file.
    """

    offset: int
    length: int
    data: bytes | None
    closed: bool = True


def records(chunks: Iterable[bytes], max_length: int) -> Iterator[Record]:
    """Yield the records of a file that arrives in chunks of any size, without byte order mark and blank lines.

    max_length: bytes of a record that are kept. Raises Utf16Found.
    """
    source = iter(chunks)
    head = _head(source)
    offset = len(_BOM) if head.startswith(_BOM) else 0
    pending = head[offset:]
    skipped: _Skipped | None = None
    for chunk in chain([b""], source, [b"\n"]):
        if skipped:
            if (end := skipped.end(chunk)) is None:
                continue
            yield Record(skipped.offset, end - skipped.offset, None)
            pending, offset, skipped = chunk[end - skipped.seen :], end, None
        else:
            pending += chunk
        position = 0
        while match := _RECORD.match(pending, position):
            if match[1].strip():
                yield _kept(offset + position, match[1], max_length)
            position = match.end()
        pending, offset = pending[position:], offset + position
        if len(pending) > max_length:
            skipped = _Skipped(offset)
            skipped.end(pending)
            pending = b""
    # The line end that was added at the end of the file is not part of the record.
    if skipped:
        yield Record(skipped.offset, skipped.next - 1 - skipped.offset, None, closed=False)
    elif pending:
        yield Record(offset, len(pending) - 1, pending[:-1], closed=False)


def cells(data: bytes, encoding: Encoding = UTF_8) -> list[str]:
    """Return the cells of a record. Raises UnicodeDecodeError, Malformed."""
    text = decoded(data, encoding)
    if '"' not in text:
        return text.rstrip("\r\n").split(",")
    try:
        return next(csv.reader(io.StringIO(text, newline=""), strict=True), [])
    except csv.Error:
        return _read(text)


def is_blank_row(data: bytes | None, encoding: Encoding = UTF_8) -> bool:
    """Check that no cell of a record has anything visible, such as `,,,,`: a row that was emptied in a spreadsheet.

    data: None for a record that is too long to keep.
    """
    if data is None or data[0] in _VISIBLE_START:
        return False
    try:
        return are_empty(cells(data, encoding))
    except UnicodeDecodeError:
        return False
    except Malformed as malformed:
        return are_empty(malformed.cells)


def are_empty(found: Iterable[str]) -> bool:
    """Check that these cells have nothing visible, and nothing that is not allowed, such as a block of bytes 0."""
    return all(problem(cell, lines=True) == REQUIRED for cell in found)


def without_empty_end(names: Sequence[str]) -> Sequence[str]:
    """Return the names of a header without trailing empty ones: columns that a spreadsheet has emptied."""
    end = len(names)
    while end and are_empty(names[end - 1 : end]):
        end -= 1
    return names[:end]


def lines(text: str) -> int:
    """Count the lines of the file that a record or a cell spans."""
    return len(_LINE_END.findall(text)) + 1


def writer(file: TextIO, line_end: str = "\n") -> Callable[[Iterable[object]], None]:
    """Return a function that writes one record to a file. All files with external data are written by it."""
    write = csv.writer(file, lineterminator=line_end).writerow
    return lambda record: write([safe(cell) if isinstance(cell, str) else cell for cell in record])


def safe(cell: str) -> str:
    """Escape a cell, so that no spreadsheet runs it as a formula."""
    return f"'{cell}" if _is_formula(cell) else cell


def restored(cell: str) -> str:
    """Undo `safe`."""
    return cell[1:] if cell.startswith("'") and _is_formula(cell) else cell


def _is_formula(cell: str) -> bool:
    # Also behind quotes, so that a cell that begins with a quote is restored with it.
    return cell.lstrip("'").startswith(_FORMULA_STARTS)


def _kept(offset: int, data: bytes, max_length: int) -> Record:
    return Record(offset, len(data), data if len(data) <= max_length else None)


def _read(text: str) -> list[str]:
    """Return the cells of a record that the csv module rejects: for its quotes, or for a long cell.

    Raises Malformed.
    """
    found: list[str] = []
    flaws: list[tuple[Flaw, int]] = []
    for match in _CELL.finditer(text):
        quoted, closing, rest, plain, comma = match.groups()
        if plain is not None:
            found.append(plain)
        elif closing and not rest.strip(" \t"):
            found.append(quoted.replace('""', '"'))
        else:
            found.append(match[0].removesuffix(comma))
        if plain is None and (rest or not closing):
            flaws.append(("open" if not closing else "text" if rest.strip(" \t") else "space", len(found)))
        if not comma:
            break
    if flaws:
        raise Malformed(*flaws[0], found)
    return found


def _head(source: Iterator[bytes]) -> bytes:
    """Return enough bytes to detect a byte order mark."""
    head = b""
    while len(head) < len(_BOM) and (chunk := next(source, None)) is not None:
        head += chunk
    if head.startswith(UTF_16):
        raise Utf16Found("the file is in UTF-16")
    return head


class _Skipped:
    """A record that is too long to keep. Each byte is scanned once.

    offset: the record's offset. seen: where the last chunk starts. next: where the next one will.
    """

    def __init__(self, offset: int) -> None:
        self.offset = self.seen = self.next = offset
        self._quoted = False
        self._field_starts = True
        # The last byte was a quote within a quoted field: its end, or half of an escaped quote.
        self._half = False

    def end(self, chunk: bytes) -> int | None:
        """Return where the record ends in the file, if it does so in this chunk."""
        self.seen, self.next = self.next, self.next + len(chunk)
        position = 0
        while position < len(chunk):
            if self._quoted:
                position = self._in_quotes(chunk, position)
                continue
            if self._half or self._field_starts:
                self._quoted = chunk[position] == _QUOTE
                self._half = self._field_starts = False
                position += self._quoted
                continue
            found = _FIELD_END.search(chunk, position)
            if found is None:
                return None
            if chunk[found.start()] != _COMMA:
                return self.seen + found.start()
            self._field_starts, position = True, found.end()
        return None

    def _in_quotes(self, chunk: bytes, position: int) -> int:
        found = chunk.find(b'"', position)
        if found < 0:
            return len(chunk)
        self._quoted, self._half = False, True
        return found + 1
