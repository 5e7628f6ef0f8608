"""The rows of a file of users, each with its position."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from runtime import csv_records
from runtime.csv_records import Malformed, Utf16Found, are_empty, is_blank_row, lines, without_empty_end
from runtime.csv_signs import separator
from runtime.encodings import UTF_8, Encoding, decoded
from runtime.text import normal_words

from .errors import (
    InvalidHeader,
    QuoteNotDoubled,
    RowSpansLines,
    RowTooLong,
    UnclosedQuote,
    WrongColumnCount,
    WrongEncoding,
)

REQUIRED_COLUMNS = ("No.", "username", "default_password", "first_name", "last_name")
OPTIONAL_COLUMNS = ("email", "phone", "security_profile", "routing_profile")

MAX_ROW = 16 * 1024
"""Bytes. A row with every cell at its limit, in four-byte characters, needs less than a quarter."""


@dataclass(frozen=True, slots=True)
class RowPointer:
    """The position of a row in its file: a compact text for state data, without the row's content.

    number: 1 is the first row after the header; blank lines do not count, rows of empty cells do. offset, length: in
    bytes.
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
    """One record of the file, without its line end. number: 0 for the header. offset: in bytes, from the start."""

    number: int
    offset: int
    data: bytes


def records(chunks: Iterable[bytes], encoding: Encoding = UTF_8) -> Iterator[Record]:
    """The header and the rows of a file that arrives in chunks of any size, without rows of empty cells.

    Raises UnclosedQuote or RowTooLong, naming the record, and InvalidHeader.
    """
    try:
        for number, record in enumerate(csv_records.records(chunks, MAX_ROW)):
            if not record.closed:
                raise UnclosedQuote(f"{_place(number)} opens a quote that is not closed before the end of the file")
            if record.data is None:
                raise RowTooLong(
                    f"{_place(number)} is longer than {MAX_ROW} bytes; probably a quote in it is closed too late"
                )
            if not number or not is_blank_row(record.data, encoding):
                yield Record(number, record.offset, record.data)
    except Utf16Found:
        raise InvalidHeader("the file is in UTF-16; save it as CSV in UTF-8") from None


def _place(number: int) -> str:
    return f"row {number}" if number else "the header"


def parse_header(data: bytes) -> tuple[str, ...]:
    """The names of the columns. Raises InvalidHeader, without a cell: it may be personal data."""
    try:
        columns = tuple(cell.strip() for cell in without_empty_end(csv_records.cells(data)))
    except UnicodeDecodeError:
        raise InvalidHeader("the first line is not UTF-8; save the file as CSV in UTF-8") from None
    except Malformed as malformed:
        text = f"column {malformed.cell} of the first line has text after its closing quote"
        raise InvalidHeader(f"{text}{_spans(data)}") from None
    missing = [name for name in REQUIRED_COLUMNS if name not in columns]
    if missing:
        raise InvalidHeader(
            f"the first line does not name {', '.join(missing)}{_found_instead(data, columns, missing[0])}; "
            f"it must be {','.join(REQUIRED_COLUMNS)}, with commas, and may add {', '.join(OPTIONAL_COLUMNS)}"
            f"{_spans(data)}"
        )
    for position, name in enumerate(columns, start=1):
        if name not in REQUIRED_COLUMNS + OPTIONAL_COLUMNS:
            raise InvalidHeader(f"column {position} of the first line is unknown; remove it{_spans(data)}")
        if name in columns[: position - 1]:
            raise InvalidHeader(f"the first line names {name} twice")
    return columns


def _spans(data: bytes) -> str:
    count = lines(data.decode())
    return f"; the header spans {count} lines of the file: a quote in it is missing or left over" if count > 1 else ""


def _found_instead(data: bytes, columns: tuple[str, ...], wanted: str) -> str:
    if found := separator(data.decode(), REQUIRED_COLUMNS):
        return f": {found}"
    for position, name in enumerate(columns, start=1):
        if normal_words(name) == normal_words(wanted):
            return f": column {position} differs from {wanted} by case, or by characters that nobody sees"
    return ""


def parse_row(data: bytes, columns: tuple[str, ...], encoding: Encoding = UTF_8) -> dict[str, str]:
    """The cells of a row by column. Raises WrongEncoding, WrongColumnCount, QuoteNotDoubled or RowSpansLines."""
    try:
        cells = csv_records.cells(data, encoding)
    except UnicodeDecodeError:
        raise WrongEncoding(f"not {encoding}") from None
    except Malformed as malformed:
        _require_one_line(data, encoding)
        raise QuoteNotDoubled(f"cell {malformed.cell}") from None
    if len(cells) < len(columns) or not are_empty(cells[len(columns) :]):
        _require_one_line(data, encoding)
        raise WrongColumnCount(f"{len(cells)} cells, {len(columns)} columns")
    return dict(zip(columns, cells, strict=False))


def _require_one_line(data: bytes, encoding: Encoding) -> None:
    """Raises RowSpansLines."""
    if (count := lines(decoded(data, encoding))) > 1:
        raise RowSpansLines(f"{count} lines")
