"""A CSV file as a stream: where each row begins and ends, found in constant memory and with one look at each byte.

A record ends where the csv module of Python ends it (RFC 4180, with lone carriage returns and stray quotes let pass).
No character of UTF-8 or cp932 but these themselves has a byte of a comma, a quote or a line end.
"""

import csv
import io
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import chain

from .encoding import UTF_8, Encoding, decoded
from .errors import InvalidHeader, RowTooLong, UnclosedQuote, WrongColumnCount, WrongEncoding

REQUIRED_COLUMNS = ("No.", "username", "default_password", "first_name", "last_name")
OPTIONAL_COLUMNS = ("email", "phone", "security_profile", "routing_profile")

MAX_ROW = 16 * 1024
"""Bytes. Every cell at its limit, in four-byte characters, comes to less than a quarter of it."""

_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# Possessive, so that a field that is not complete yet never matches in part.
_FIELD = rb'(?:"(?:[^"]++|"")*+"[^,\r\n]*+|[^",\r\n][^,\r\n]*+|)'
_RECORD = re.compile(rb"(%b(?:,%b)*+)(?:\r\n?|\n)" % (_FIELD, _FIELD))


@dataclass(frozen=True, slots=True)
class RowPointer:
    """Where a row stands in its file: a compact text in state data, never what the row says.

    number: 1 is the first row after the header; blank lines do not count. offset, length: in bytes.
    repeats: the number of an earlier row with the same username; 0 for none.
    """

    number: int
    offset: int
    length: int
    repeats: int = 0

    def __str__(self) -> str:
        known = f"{self.number}:{self.offset}:{self.length}"
        return f"{known}:{self.repeats}" if self.repeats else known

    @classmethod
    def parse(cls, text: str) -> "RowPointer":
        """The opposite of str(). Raises ValueError."""
        numbers = [int(part) for part in text.split(":")]
        if len(numbers) not in (3, 4) or min(numbers) < 0:
            raise ValueError("not a row pointer")
        return cls(*numbers)


@dataclass(frozen=True, slots=True)
class Record:
    """One record as it stands in the file, without its line end. offset: in bytes, from the start of the file."""

    offset: int
    data: bytes


def records(chunks: Iterable[bytes]) -> Iterator[Record]:
    """The records of a file that comes in chunks of any size; no byte order mark, no blank lines.

    Raises UnclosedQuote or RowTooLong, naming the record: after it nobody can tell where a row begins.
    """
    source = iter(chunks)
    head = _head(source)
    offset = len(_BOM) if head.startswith(_BOM) else 0
    pending, number = head[offset:], 0
    for chunk in chain([b""], source, [b"\n"]):
        pending += chunk
        position = 0
        while match := _RECORD.match(pending, position):
            _require_length(len(match[1]), number)
            if match[1].strip():
                number += 1
                yield Record(offset + position, match[1])
            position = match.end()
        pending, offset = pending[position:], offset + position
        _require_length(len(pending), number)
    if pending:
        raise UnclosedQuote(f"{_place(number)} opens a quote that is not closed before the end of the file")


def _head(source: Iterator[bytes]) -> bytes:
    """Enough bytes to tell a byte order mark. Raises InvalidHeader if it is that of UTF-16."""
    head = b""
    while len(head) < len(_BOM) and (chunk := next(source, None)) is not None:
        head += chunk
    if head.startswith(_UTF_16):
        raise InvalidHeader("the file is in UTF-16; save it as CSV in UTF-8")
    return head


def _require_length(length: int, records_before: int) -> None:
    if length > MAX_ROW:
        raise RowTooLong(
            f"{_place(records_before)} is longer than {MAX_ROW} bytes; most likely a quote in it, or before it, "
            "is not closed"
        )


def _place(records_before: int) -> str:
    return f"row {records_before}" if records_before else "the header"


def parse_header(data: bytes) -> tuple[str, ...]:
    """The names of the columns. Raises InvalidHeader, which repeats no cell: without a header, it would be a row's."""
    try:
        columns = tuple(cell.strip() for cell in _cells(data))
    except UnicodeDecodeError:
        raise InvalidHeader("the first line is not UTF-8; save the file as CSV in UTF-8") from None
    missing = [name for name in REQUIRED_COLUMNS if name not in columns]
    if missing:
        raise InvalidHeader(
            f"the first line does not name {', '.join(missing)}; it must be {','.join(REQUIRED_COLUMNS)}, "
            f"with commas, and may add {', '.join(OPTIONAL_COLUMNS)}"
        )
    for position, name in enumerate(columns, start=1):
        if name not in REQUIRED_COLUMNS + OPTIONAL_COLUMNS:
            raise InvalidHeader(f"column {position} of the first line is none of those that are known; remove it")
        if name in columns[: position - 1]:
            raise InvalidHeader(f"the first line names {name} twice")
    return columns


def parse_row(data: bytes, columns: tuple[str, ...], encoding: Encoding = UTF_8) -> dict[str, str]:
    """The cells of a row by column. Raises WrongEncoding or WrongColumnCount."""
    try:
        cells = _cells(data, encoding)
    except UnicodeDecodeError:
        raise WrongEncoding(f"not {encoding}") from None
    if len(cells) != len(columns):
        raise WrongColumnCount(f"{len(cells)} cells, {len(columns)} columns")
    return dict(zip(columns, cells, strict=True))


def _cells(data: bytes, encoding: Encoding = UTF_8) -> list[str]:
    return next(csv.reader(io.StringIO(decoded(data, encoding), newline="")), [])
