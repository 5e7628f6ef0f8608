"""The header of a file, and the check of a row: a document for a key, or the first reason against it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runtime.csv_records import Malformed, Record, are_empty, cells, lines, restored, without_empty_end
from runtime.csv_signs import separator
from runtime.encodings import UTF_8, Encoding
from runtime.text import is_blank, normal_words

from . import codes
from .columns import CODE_COLUMN, ERROR_COLUMNS, GUARD, NAME_COLUMN, ROW, BadCell, ImportType
from .errors import FileRefused

ROW_COLUMN = ROW.name
FAILED_COLUMNS = (ROW_COLUMN, *ERROR_COLUMNS)
"""The columns that failed.csv has before those of the file."""
_EARLIER_FAILED_COLUMNS = (ROW_COLUMN, "code", "column", "message")


@dataclass(frozen=True, slots=True)
class Refusal:
    """column: the first one with an error; "" for the whole row."""

    code: str
    column: str = ""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file. number: in the first file of the chain; 0 if the row does not say it.

    sk: of its key; "" if there is none. refusal: None if the row may be published. moved: the first file has another
    key for it.
    """

    number: int
    sk: str = ""
    code: str = ""
    name: str = ""
    attributes: Mapping[str, Any] | None = None
    refusal: Refusal | None = None
    moved: bool = False


@dataclass(frozen=True, slots=True)
class Layout:
    """names: of the columns, without those of a result. result_columns: how many of them come first."""

    kind: ImportType
    names: tuple[str, ...]
    result_columns: int = 0
    encoding: Encoding = UTF_8

    @property
    def corrected(self) -> bool:
        """Return whether the file is a corrected result, whose rows say their numbers."""
        return self.result_columns > 0

    def key_cell(self, data: bytes | None) -> str:
        """The code of a row as the file has it, and its number where the rows have one; "" for none."""
        found = self._fitting(self._seen(data))
        return self._unguarded(found)[self.names.index(CODE_COLUMN)] if found else ""

    def code(self, data: bytes | None) -> str:
        """The code of a row; "" if it is none."""
        try:
            return str(self.kind.columns[CODE_COLUMN].value(self.key_cell(data)))
        except BadCell:
            return ""

    def number(self, data: bytes | None) -> int:
        """The number that a row of a corrected file says; 0 for none."""
        return _number(self.number_cell(data))[0]

    def number_cell(self, data: bytes | None) -> str:
        """The number that a row of a corrected file says; "" for none."""
        return self._seen(data, [""])[0].strip()

    def row(self, position: int, data: bytes | None, *, duplicate: bool = False, moved: bool = False) -> Row:
        """Check a row. position: in the file, from 1. data: None if it is too long. duplicate: another has its key.

        moved: it has another key in the first file.
        """
        if data is None:
            return Row(0 if self.corrected else position, refusal=Refusal(codes.ROW_TOO_LONG))
        number, wrong = _number(self.number_cell(data)) if self.corrected else (position, "")
        try:
            found = self._fitting(self._cells(data))
        except UnicodeDecodeError:
            return Row(number, refusal=Refusal(codes.NOT_UTF_8))
        except Malformed:
            found = None
        if found is None:
            return Row(number, refusal=Refusal(codes.RAGGED_ROW))
        if not number:
            return Row(0, refusal=Refusal(wrong, ROW_COLUMN))
        return replace(self._checked(number, found, duplicate), moved=moved)

    def shown(self, data: bytes | None) -> list[str]:
        """The cells of a row as a result shows them: no secret, and no cell if it cannot be read."""
        empty = [""] * len(self.names)
        seen = self._seen(data)
        secret = self.kind.type.secret
        if found := self._fitting(seen):
            return ["" if name in secret else cell for name, cell in zip(self.names, found, strict=True)]
        # A cell may be in another column than it seems.
        return empty if secret else [*seen[self.result_columns :], *empty][: len(empty)]

    def message(self, refusal: Refusal, data: bytes | None) -> str:
        """Describe what is wrong with a row, and how to fix it. It repeats no cell."""
        general = self.kind.message(refusal.code, refusal.column)
        try:
            found = self._cells(data) if data is not None else []
            if refusal.code == codes.RAGGED_ROW and self._fitting(found) is None:
                general = codes.ragged(len(found), self.result_columns + len(self.names))
        except UnicodeDecodeError:
            found = []
        except Malformed as malformed:
            found = malformed.cells
            general = codes.malformed(malformed.flaw, malformed.cell)
        return general + _spans(found)

    def _cells(self, data: bytes) -> list[str]:
        """Raises UnicodeDecodeError, Malformed."""
        found = cells(data, self.encoding)
        return [restored(cell) for cell in found] if self.corrected else found

    def _seen(self, data: bytes | None, none: Sequence[str] = ()) -> Sequence[str]:
        """The cells of a row as far as they can be read."""
        try:
            return self._cells(data) if data is not None else none
        except UnicodeDecodeError:
            return none
        except Malformed as malformed:
            return malformed.cells

    def _fitting(self, found: Sequence[str]) -> Sequence[str] | None:
        """The cells of the columns, without those of a result; None if there are more or fewer.

        A spreadsheet adds empty cells at the end of each row.
        """
        size = self.result_columns + len(self.names)
        if len(found) > size and are_empty(found[size:]):
            found = found[:size]
        if len(found) != size:
            return None
        return found[self.result_columns :] if self.result_columns else found

    def _unguarded(self, found: Sequence[str]) -> Sequence[str]:
        """The cells of a row as they were before an export guarded them."""
        if GUARD.name not in self.names or found[self.names.index(GUARD.name)].strip().lower() != "true":
            return found
        return [restored(cell) for cell in found]

    def _checked(self, number: int, found: Sequence[str], duplicate: bool) -> Row:
        values: dict[str, Any] = {}
        refusal: Refusal | None = None
        for name, cell in zip(self.names, self._unguarded(found), strict=True):
            column = GUARD if name == GUARD.name else self.kind.columns.get(name)
            if column is None:
                continue
            try:
                value = column.value(cell)
                if name == CODE_COLUMN and duplicate:
                    raise BadCell(codes.DUPLICATE_KEY)
                if value is None and self.corrected and name in self.kind.type.secret:
                    # The result left it out. Without it, the row would remove the stored one.
                    raise BadCell(codes.REQUIRED)
            except BadCell as bad:
                refusal = refusal or Refusal(bad.code, name)
                continue
            if value is not None:
                values[name] = value
        values.pop(GUARD.name, None)
        code, name = values.pop(CODE_COLUMN, ""), values.pop(NAME_COLUMN, "")
        return Row(number, self.kind.sk(code) if code else "", code, name, values, refusal)


def read_header(
    record: Record | None, kind: ImportType, encoding: Encoding, *, corrected: bool, ignore: bool
) -> Layout:
    """The layout of a file. corrected: it is a result of an earlier import. ignore: columns that the type lacks.

    Raises FileRefused.
    """
    if record is not None and not record.closed:
        raise unclosed_quote("The header")
    if record is not None and record.data is None:
        raise FileRefused(codes.ROW_TOO_LONG, "", f"The header has more than {codes.MAX_ROW} bytes. Shorten it.")
    data = record.data if record and record.data else b""
    names = without_empty_end(_names(data, encoding))
    first = _result_columns(names) if corrected else 0
    layout = Layout(kind, tuple(names[first:]), first, encoding)
    _check_names(layout, data.decode(encoding), ignore)
    return layout


def unclosed_quote(place: str) -> FileRefused:
    """The refusal of a file whose rows cannot be told apart. place: where the quote opens."""
    message = (
        f"{place} opens a quote that is never closed, so the rows after it cannot be told apart. "
        "Close the quote, or remove it, and import the file again."
    )
    return FileRefused(codes.UNCLOSED_QUOTE, "", message)


def _names(data: bytes, encoding: Encoding) -> list[str]:
    try:
        return [name.strip() for name in cells(data, encoding)] if data else []
    except UnicodeDecodeError:
        raise FileRefused(
            codes.NOT_UTF_8, "", f"The header is not {encoding}. Save the file as CSV in UTF-8."
        ) from None
    except Malformed as malformed:
        message = f"The header is wrong. {codes.malformed(malformed.flaw, malformed.cell)}{_spans(malformed.cells)}"
        raise FileRefused(codes.UNKNOWN_COLUMN, _column(malformed.cells[malformed.cell - 1].strip()), message) from None


def _column(name: str) -> str:
    """A name for the column of an error; "" for one that may have swallowed rows, whose cells no error repeats."""
    return codes.escaped(name, 64) if lines(name) == 1 else ""


def _spans(names: Sequence[str]) -> str:
    """A sentence to add if a name is on several lines of the file."""
    longest = max(range(len(names)), key=lambda index: lines(names[index]), default=-1)
    return codes.spans(f"Cell {longest + 1}", lines(names[longest])) if names else ""


def _result_columns(names: Sequence[str]) -> int:
    """Count the columns that a result put before those of the file. Raises FileRefused."""
    first = tuple(names[: len(FAILED_COLUMNS)])
    # The earlier names could be the type's own: then its code does not follow.
    if first == FAILED_COLUMNS or (first == _EARLIER_FAILED_COLUMNS and CODE_COLUMN in names[len(first) :]):
        return len(FAILED_COLUMNS)
    if names[:1] != [ROW_COLUMN]:
        message = "The first column of a corrected file must be row, as in failed.csv and unprocessed.csv. Add it."
        raise FileRefused(codes.MISSING_COLUMN, ROW_COLUMN, message)
    return 1


def _check_names(layout: Layout, header: str, ignore: bool) -> None:
    """Raises FileRefused."""
    names, kind = layout.names, layout.kind
    spans = _spans([""] * layout.result_columns + list(names))
    for name in kind.required:
        if name not in names:
            found = _found_instead(layout, header, name)
            message = f"The header has no column {name}{found}. It needs {','.join(kind.required)}.{spans}"
            raise FileRefused(codes.MISSING_COLUMN, name, message)
    for index, name in enumerate(names):
        place = f"Column {layout.result_columns + index + 1} of the header"
        if name not in kind.columns and name != GUARD.name and not ignore:
            shown = f", {codes.shown(name)}, is none of {kind.name}" if _column(name) else f" is none of {kind.name}"
            what = shown if not is_blank(name) else " has no name"
            message = f"{place}{what}. Remove it, or ignore unknown columns.{spans}"
            raise FileRefused(codes.UNKNOWN_COLUMN, _column(name), message)
        if name in names[:index] and not is_blank(name):
            first = layout.result_columns + names.index(name) + 1
            message = f"{place} is {codes.shown(name)}, as is column {first}. Remove one."
            raise FileRefused(codes.UNKNOWN_COLUMN, codes.escaped(name, 64), message)


def _found_instead(layout: Layout, header: str, wanted: str) -> str:
    """Describe a header that lacks a column. Repeats only a name that is nearly the column's: another may be a cell."""
    if found := separator(header, layout.kind.required):
        return f": {found}. Separate the columns with commas"
    for index, name in enumerate(layout.names, start=layout.result_columns + 1):
        if normal_words(name) == normal_words(wanted):
            return f": column {index} is {codes.shown(name)}. Rename it"
    count = len(layout.names)
    if not count:
        return ": its cells are empty" if header.strip() else ""
    return f", but {'one other' if count == 1 else f'{count} others'}"


def _number(cell: str) -> tuple[int, str]:
    """A row's number; or 0, and why it is none."""
    try:
        return int(ROW.value(cell)), ""
    except BadCell as bad:
        return 0, bad.code
