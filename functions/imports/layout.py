"""The header of a file, and what a row makes of it: a document for a key, or the first reason against it."""

import csv
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from runtime.csv_records import Record, cells, restored
from runtime.encodings import UTF_8, Encoding

from . import codes
from .columns import CODE_COLUMN, NAME_COLUMN, ROW, BadCell, ImportType
from .errors import FileRefused

ROW_COLUMN = ROW.name
FAILED_COLUMNS = (ROW_COLUMN, "code", "column", "message")
"""The columns that failed.csv has before those of the file."""


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
    """names: of the columns, without those of a result. own: how many columns of a result come first."""

    kind: ImportType
    names: tuple[str, ...]
    own: int = 0
    encoding: Encoding = UTF_8

    @property
    def corrected(self) -> bool:
        """Whether the file is a corrected result, whose rows say which ones they are."""
        return self.own > 0

    def key_cell(self, data: bytes | None) -> str:
        """The code of a row as the file has it, and its number where the rows have one; "" for none."""
        found = self._cells(data) if data is not None else None
        if found is None or len(found) != self.own + len(self.names):
            return ""
        return found[self.own + self.names.index(CODE_COLUMN)]

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
        found = self._cells(data) if data is not None else None
        return found[0].strip() if found else ""

    def row(self, position: int, data: bytes | None, *, duplicate: bool = False, moved: bool = False) -> Row:
        """Check a row. position: in the file, from 1. data: None if it is too long. duplicate: another has its key.

        moved: it has another key in the first file.
        """
        if data is None:
            return Row(0 if self.corrected else position, refusal=Refusal(codes.ROW_TOO_LONG))
        found = self._cells(data)
        number, wrong = (position, "") if not self.corrected else _number(found[0] if found else "")
        if found is None:
            return Row(number, refusal=Refusal(codes.NOT_UTF_8))
        if len(found) != self.own + len(self.names):
            return Row(number, refusal=Refusal(codes.RAGGED_ROW))
        if not number:
            return Row(0, refusal=Refusal(wrong, ROW_COLUMN))
        return replace(self._checked(number, found[self.own :], duplicate), moved=moved)

    def shown(self, data: bytes | None) -> list[str]:
        """The cells of a row as a result shows them: no secret, and no cell if it cannot be read."""
        empty = [""] * len(self.names)
        found = self._cells(data) if data is not None else None
        if found is None:
            return empty
        secret = self.kind.type.secret
        if len(found) != self.own + len(self.names):
            # A cell may be in another column than it seems.
            return empty if secret else [*found[self.own :], *empty][: len(empty)]
        return ["" if name in secret else cell for name, cell in zip(self.names, found[self.own :], strict=True)]

    def _cells(self, data: bytes) -> list[str] | None:
        try:
            found = cells(data, self.encoding, strict=True)
        except UnicodeDecodeError:
            return None
        except csv.Error:
            return []
        return [restored(cell) for cell in found] if self.corrected else found

    def _checked(self, number: int, found: Sequence[str], duplicate: bool) -> Row:
        values: dict[str, Any] = {}
        refusal: Refusal | None = None
        for name, cell in zip(self.names, found, strict=True):
            column = self.kind.columns.get(name)
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
        code, name = values.pop(CODE_COLUMN, ""), values.pop(NAME_COLUMN, "")
        return Row(number, self.kind.sk(code) if code else "", code, name, values, refusal)


def read_header(
    record: Record | None, kind: ImportType, encoding: Encoding, *, corrected: bool, ignore: bool
) -> Layout:
    """The layout of a file. corrected: it is a result of an earlier import. ignore: columns that the type lacks.

    Raises FileRefused.
    """
    if record is not None and record.data is None:
        raise FileRefused(codes.ROW_TOO_LONG, "", f"The header has more than {codes.MAX_ROW} bytes. Shorten it.")
    names = _names(record, encoding)
    own = _own(names) if corrected else 0
    layout = Layout(kind, tuple(names[own:]), own, encoding)
    _check_names(layout, ignore)
    return layout


def _names(record: Record | None, encoding: Encoding) -> list[str]:
    try:
        return [name.strip() for name in cells(record.data, encoding)] if record and record.data else []
    except UnicodeDecodeError:
        raise FileRefused(
            codes.NOT_UTF_8, "", f"The header is not {encoding}. Save the file as CSV in UTF-8."
        ) from None


def _own(names: Sequence[str]) -> int:
    """Raises FileRefused."""
    if tuple(names[: len(FAILED_COLUMNS)]) == FAILED_COLUMNS:
        return len(FAILED_COLUMNS)
    if names[:1] != [ROW_COLUMN]:
        message = "The first column of a corrected file must be row, as in failed.csv and unprocessed.csv. Add it."
        raise FileRefused(codes.MISSING_COLUMN, ROW_COLUMN, message)
    return 1


def _check_names(layout: Layout, ignore: bool) -> None:
    """Raises FileRefused."""
    known = layout.kind.columns
    for name in layout.kind.required:
        if name not in layout.names:
            header = ",".join(layout.kind.required)
            raise FileRefused(codes.MISSING_COLUMN, name, f"The header has no column {name}. It needs {header}.")
    for position, name in enumerate(layout.names):
        if name in layout.names[:position]:
            raise FileRefused(codes.UNKNOWN_COLUMN, _shown(name), "The header names a column twice. Remove one.")
        if name not in known and not ignore:
            message = f"The header has a column that {layout.kind.name} lacks. Remove it, or ignore unknown columns."
            raise FileRefused(codes.UNKNOWN_COLUMN, _shown(name), message)


def _shown(name: str) -> str:
    return name[:64]


def _number(cell: str) -> tuple[int, str]:
    """A row's number; or 0, and why it is none."""
    try:
        return int(ROW.value(cell)), ""
    except BadCell as bad:
        return 0, bad.code
