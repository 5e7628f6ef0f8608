"""The columns of a type's file, derived from its schema, and the check of their cells."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import msgspec
from msgspec import NODEFAULT

from entities.types import EntityType
from runtime.text import composed, is_blank, problem

from . import codes

_CODE = r"^[A-Za-z0-9_-]{1,100}\Z"
_INTEGER = re.compile(r"([+-]?)(?=[0-9])0*([0-9]*)\Z")
# As many as DynamoDB stores.
_MAX_DIGITS = 38
_LEFT_OUT = "results leave out secrets"
_TEXT = "no control characters"
_BOOLEANS = {"true": True, "false": False}

type Check = Callable[[str], Any]
"""The value of a cell that is not empty. Raises BadCell."""


class BadCell(ValueError):
    """code: why a cell is refused."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


@dataclass(frozen=True, slots=True)
class Column:
    """One column. rule: what it allows, in words."""

    name: str
    required: bool
    rule: str
    check: Check

    def value(self, cell: str) -> Any:
        """The value of a cell; None if there is nothing to see. Raises BadCell."""
        if is_blank(cell):
            if problem(cell) == codes.NOT_ALLOWED:
                raise BadCell(codes.NOT_ALLOWED)
            if self.required:
                raise BadCell(codes.REQUIRED)
            return None
        return self.check(cell)


@dataclass(frozen=True, slots=True)
class ImportType:
    """A type whose commands come from rows. The key of a row is its type, # and its code."""

    type: EntityType
    columns: Mapping[str, Column]

    @property
    def name(self) -> str:
        return self.type.name

    @property
    def required(self) -> Sequence[str]:
        return [column.name for column in self.columns.values() if column.required]

    def sk(self, code: str) -> str:
        return f"{self.name}#{code}"

    def message(self, code: str, column: str) -> str:
        """Say what is wrong with a row, and how to fix it."""
        known = {ROW.name: ROW, GUARD.name: GUARD, **self.columns}
        if code == codes.REQUIRED:
            return codes.sentence(code, _LEFT_OUT if column in self.type.secret else "")
        rule = known[column].rule if column in known else ""
        return codes.sentence(code, rule if code in (codes.OUT_OF_RANGE, codes.NOT_ALLOWED) else "")

    def normal(self, attributes: Mapping[str, Any]) -> Any:
        """Attributes with every default filled in, to compare documents. None if they do not fit the schema."""
        if self.type.schema is None:
            return dict(attributes)
        try:
            return msgspec.to_builtins(msgspec.convert(dict(attributes), self.type.schema))
        except msgspec.ValidationError:
            return None


CODE_COLUMN, NAME_COLUMN = "code", "name"
ERROR_COLUMNS = ("error_code", "error_column", "error_message")
"""The columns of failed.csv that say why a row has failed."""


@cache
def import_type(kind: EntityType) -> ImportType | None:
    """The columns of a type: code, name, and its attributes. None if a file, or its results, cannot hold it."""
    if kind.schema is None:
        return None
    known: Any = msgspec.inspect.type_info(kind.schema)
    try:
        attributes = [_column(field) for field in known.fields]
    except NotImplementedError:
        return None
    if {"row", GUARD.name, *ERROR_COLUMNS} & {column.name for column in attributes}:
        return None
    columns = [
        Column(CODE_COLUMN, True, "up to 100 letters, digits, _ and -", _text(pattern=_CODE)),
        Column(
            NAME_COLUMN, True, f"1 to 256 characters in one line, {_TEXT}", _text(shortest=1, longest=256, lines=False)
        ),
        *attributes,
    ]
    return ImportType(kind, {column.name: column for column in columns})


def _column(field: Any) -> Column:
    rule, check = _rule(field.type)
    return Column(field.encode_name, field.required and field.default is NODEFAULT, rule, check)


def _rule(kind: Any) -> tuple[str, Check]:
    match kind:
        case msgspec.inspect.IntType():
            return _bounds(_lowest(kind), _highest(kind), ""), integer(_lowest(kind), _highest(kind))
        case msgspec.inspect.BoolType():
            return "true or false", _boolean
        case msgspec.inspect.StrType():
            words = ", ".join(filter(None, (_bounds(kind.min_length, kind.max_length, " characters"), _TEXT)))
            return _readable(kind.pattern) or words, _text(kind.pattern, kind.min_length, kind.max_length)
        case msgspec.inspect.LiteralType() if all(isinstance(value, str) for value in kind.values):
            values = [str(value) for value in kind.values]
            return "one of " + ", ".join(values), _one_of(frozenset(values))
        case msgspec.inspect.UnionType():
            others = [other for other in kind.types if not isinstance(other, msgspec.inspect.NoneType)]
            if len(others) == 1:
                return _rule(others[0])
    raise NotImplementedError


def _readable(pattern: str | None) -> str:
    return f"it must match {pattern.removeprefix('^').removesuffix(chr(92) + 'Z')}" if pattern else ""


def _lowest(kind: msgspec.inspect.IntType) -> int | None:
    return kind.gt + 1 if kind.gt is not None else kind.ge


def _highest(kind: msgspec.inspect.IntType) -> int | None:
    return kind.lt - 1 if kind.lt is not None else kind.le


def _bounds(lowest: int | None, highest: int | None, unit: str) -> str:
    match lowest, highest:
        case None, None:
            return ""
        case None, _:
            return f"at most {highest}{unit}"
        case _, None:
            return f"at least {lowest}{unit}"
    return f"{lowest} to {highest}{unit}"


def integer(lowest: int | None, highest: int | None) -> Check:
    """The check of a whole number."""

    def check(cell: str) -> int:
        found = _INTEGER.match(cell.strip())
        if found is None:
            raise BadCell(codes.NOT_A_NUMBER)
        sign, digits = found.groups()
        if len(digits) > _MAX_DIGITS:
            raise BadCell(codes.OUT_OF_RANGE)
        value = int(f"{sign}{digits or 0}")
        if (lowest is not None and value < lowest) or (highest is not None and value > highest):
            raise BadCell(codes.OUT_OF_RANGE)
        return value

    return check


def _boolean(cell: str) -> bool:
    value = _BOOLEANS.get(cell.strip().lower())
    if value is None:
        raise BadCell(codes.NOT_ALLOWED)
    return value


def _text(
    pattern: str | None = None, shortest: int | None = None, longest: int | None = None, *, lines: bool = True
) -> Check:
    """The check of a text. It is stored in NFC, so that a name has one spelling. lines: it may have several."""
    matches = re.compile(pattern).search if pattern else None

    def check(cell: str) -> str:
        text = composed(cell)
        if not (shortest or 0) <= len(text) <= (longest if longest is not None else len(text)):
            raise BadCell(codes.OUT_OF_RANGE)
        if problem(text, lines=lines) or (matches and not matches(text)):
            raise BadCell(codes.NOT_ALLOWED)
        return text

    return check


def _one_of(allowed: frozenset[str]) -> Check:
    def check(cell: str) -> str:
        if cell not in allowed:
            raise BadCell(codes.NOT_ALLOWED)
        return cell

    return check


ROW = Column("row", True, "1 to 999999999", integer(1, 999_999_999))
"""The number that a row of a corrected file has in the first file."""
GUARD = Column("formula_guard", False, "true or false", _boolean)
"""In an exported file: true if an apostrophe was put before each cell of the row that a spreadsheet would run."""
