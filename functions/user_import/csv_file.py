"""Finds where each row of a CSV stream begins and ends, in constant memory and one pass.

A record ends where Python's csv module ends it (RFC 4180; lone carriage returns and stray quotes are accepted).
In UTF-8 and cp932, only these characters themselves contain the byte of a comma, a quote or a line end.
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
"""Bytes. A row with every cell at its limit, in four-byte characters, needs less than a quarter."""

_BOM = b"\xef\xbb\xbf"
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
# Possessive: an incomplete field must not match in part.
_FIELD = rb'(?:"(?:[^"]++|"")*+"[^,\r\n]*+|[^",\r\n][^,\r\n]*+|)'
_RECORD = re.compile(rb"(%b(?:,%b)*+)(?:\r\n?|\n)" % (_FIELD, _FIELD))


@dataclass(frozen=True, slots=True)
class RowPointer:
    """The position of a row in its file: a compact text for state data, without the row's content.

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
        """The inverse of str(). Raises ValueError."""
        numbers = [int(part) for part in text.split(":")]
        if len(numbers) not in (3, 4) or min(numbers) < 0:
            raise ValueError("not a row pointer")
        return cls(*numbers)


@dataclass(frozen=True, slots=True)
class Record:
    """One record of the file, without its line end. offset: in bytes, from the start of the file."""

    offset: int
    data: bytes


def records(chunks: Iterable[bytes]) -> Iterator[Record]:
    """The records of a file that arrives in chunks of any size, without byte order mark and blank lines.

    Raises UnclosedQuote or RowTooLong, naming the record: the rows after it cannot be located.
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
    """Enough bytes to detect a byte order mark. Raises InvalidHeader if it is that of UTF-16."""
    head = b""
    while len(head) < len(_BOM) and (chunk := next(source, None)) is not None:
        head += chunk
    if head.startswith(_UTF_16):
        raise InvalidHeader("the file is in UTF-16; save it as CSV in UTF-8")
    return head


def _require_length(length: int, records_before: int) -> None:
    if length > MAX_ROW:
        raise RowTooLong(
            f"{_place(records_before)} is longer than {MAX_ROW} bytes; probably a quote in it, or before it, "
            "is not closed"
        )


def _place(records_before: int) -> str:
    return f"row {records_before}" if records_before else "the header"


def parse_header(data: bytes) -> tuple[str, ...]:
    """The names of the columns. Raises InvalidHeader, without a cell: it may be personal data."""
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
            raise InvalidHeader(f"column {position} of the first line is unknown; remove it")
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
