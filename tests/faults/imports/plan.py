"""The imports of a schedule: a file, and its retries."""

import csv
import io
import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from tests.faults.imports.schedule import Schedule

TENANT = "tenant1"
PK = f"TENANT#{TENANT}"
SECRET = "hush"
COLUMNS = ("code", "name", "category", "price", "currency", "description")
_WRONG = (("name", "", "Required"), ("category", "BAD!", "NotAllowed"), ("price", "x", "NotANumber"))
_DAYS = (0, 0, 0, 1, 40, 88.5, 95)
TOO_LONG = "9" * 5_000
"""A number that no row has, and that Python does not read."""


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file. number: as it says, or its position in the first file; 0 if it says none.

    said: the text in place of a number.
    """

    number: int
    cells: tuple[str, ...]
    said: str = ""

    @property
    def code(self) -> str:
        """Code of the row. Empty after a correction of results without cells, whose file was removed."""
        return self.cells[0]

    @property
    def sk(self) -> str:
        return f"PRODUCT#{self.code}"


@dataclass(frozen=True, slots=True)
class File:
    """A file. own: the columns before those of the type: none, row, or all that failed.csv has.

    blank: a row that a spreadsheet has emptied, where the numbers have a gap, and at the end. padding: empty columns at
    the end of each line. open: the last row opens a quote.
    """

    rows: Sequence[Row]
    own: tuple[str, ...] = ()
    header: tuple[str, ...] = COLUMNS
    blank: str = ""
    padding: str = ""
    open: bool = False

    @property
    def text(self) -> str:
        lines = [_line((*self.own, *self.header)) + self.padding]
        for position, row in enumerate(self.rows, start=1):
            said = [str(row.number or row.said), "Required", "name", "Fill it in."][: len(self.own)]
            gap = position % 2 if self.own else row.number - len(lines)
            lines.extend([self.blank] * gap if self.blank else [])
            lines.append(_line((*said, *row.cells)) + self.padding)
        lines.extend([self.blank] if self.blank else [])
        return "\n".join([*lines, '"p99,open' if self.open else ""])

    @property
    def is_refused(self) -> str:
        """Code with which the file is refused, if its header is right."""
        return "UnclosedQuote" if self.open else ""

    def wrong(self, last: bool) -> list[str]:
        """Return the reason to refuse each row, regardless of stored data; empty if there is none.

        last: only the last row of each key runs.
        """
        codes, numbers = Counter(row.sk for row in self.rows), Counter(row.number for row in self.rows)
        latest = {row.sk: index for index, row in enumerate(self.rows)}
        return [
            self._wrong(row)
            if (not row.number and self.own) or not row.code
            else "DuplicateKey"
            if (codes[row.sk] > 1 and not (last and latest[row.sk] == index)) or (self.own and numbers[row.number] > 1)
            else self._wrong(row)
            for index, row in enumerate(self.rows)
        ]

    def _wrong(self, row: Row) -> str:
        """Return the reason to refuse a row. A corrected file has each secret again, which the results omit."""
        return _wrong(row) or ("Required" if self.own and not row.cells[COLUMNS.index("description")] else "")


def _line(cells: Sequence[str]) -> str:
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator="").writerow(cells)
    return out.getvalue()


def worked_on(chance: random.Random, file: File) -> File:
    """Return the file as a spreadsheet, or damage, leaves it."""
    if chance.random() < 0.3:
        file = replace(file, blank=chance.choice((",,,,,", ' ,"",\u3000,,,')))
    if file.blank and not file.own:
        gaps = [chance.choice((0, 0, 1, 3)) for _ in file.rows]
        rows = [replace(row, number=row.number + sum(gaps[: index + 1])) for index, row in enumerate(file.rows)]
        file = replace(file, rows=rows)
    padding = chance.choice(("", "", ",", ",,"))
    return replace(file, padding=padding, open=chance.random() < 0.04)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a schedule.

    first: the file. mode: None to let the size decide. retries: how many follow. options: the first import's options.
    batch_rows: rows of a batch. known: how many keys exist before. others: moments at which others publish keys.
    stops: moments at which an operator stops what runs. twice: calls at once. uploaded: by an event.
    ending: the extension of the file's name.
    """

    first: File
    mode: str | None
    batch_rows: int
    retries: int
    validate_only: bool
    uploaded: bool
    twice: bool
    known: int
    options: dict[str, Any] = field(default_factory=dict)
    others: Sequence[float] = ()
    stops: Sequence[float] = ()
    ending: str = ""


def plan(schedule: Schedule) -> Plan:
    chance = schedule.chance("plan")
    number = chance.choice((0, 1, 2, 3, 4, 5, 5, 6, 7, 8, 9, 11))
    file = File([_row(chance, one) for one in range(1, number + 1)])
    if chance.random() < 0.03:
        file = replace(file, header=("code", "nonsense", *COLUMNS[2:]))
    file = worked_on(schedule.chance("file"), file)
    mode = chance.choice(("STEP_FUNCTION", "STEP_FUNCTION", "STEP_FUNCTION", "DIRECT", None))
    return Plan(
        file,
        mode,
        chance.choice((2, 3, 5)),
        chance.choice((0, 1, 1, 2, 3)),
        chance.random() < 0.15,
        chance.random() < 0.15,
        chance.random() < 0.15,
        chance.choice((0, 0, 1, number // 2, number)),
        _options(chance),
        [chance.uniform(0, 20) for _ in range(chance.choice((0, 0, 1, 3)))],
        [chance.uniform(0, 15)] if chance.random() < 0.12 else [],
        schedule.chance("ending").choice((".csv", ".csv", ".CSV", ".Csv")),
    )


def _options(chance: random.Random) -> dict[str, Any]:
    return {
        **({"duplicates": "last"} if chance.random() < 0.3 else {}),
        **({"all_or_nothing_validation": True} if chance.random() < 0.08 else {}),
        **({"max_concurrency": chance.choice((1, 2, 3))} if chance.random() < 0.7 else {}),
    }


def _row(chance: random.Random, number: int) -> Row:
    code = f"p{chance.randint(1, number)}" if chance.random() < 0.1 else f"p{number}"
    secret = f"{SECRET}-{number}" if chance.random() < 0.3 else ""
    cells = dict(zip(COLUMNS, (code, f"Row {number}", "tea", str(100 + number), "JPY", secret), strict=True))
    if chance.random() < 0.15:
        column, cell, _ = chance.choice(_WRONG)
        cells[column] = cell
    return Row(number, tuple(cells.values()))


def _wrong(row: Row) -> str:
    if not row.number:
        return "OutOfRange" if row.said else "Required"
    if not row.code:
        return "Required"
    cells = dict(zip(COLUMNS, row.cells, strict=True))
    return next((code for column, cell, code in _WRONG if cells[column] == cell), "")


def corrected(chance: random.Random, first: File, failed: Sequence[Row], unprocessed: Sequence[Row]) -> File:
    """Make a file from results, as a user would: corrected in part, in any order, and not always with care."""
    chosen = [*chance.choice(((*failed, *unprocessed), failed, unprocessed))]
    rows = [_corrected(row) if chance.random() < 0.7 else row for row in chosen if chance.random() < 0.95]
    if first.rows and chance.random() < 0.2:
        rows.append(chance.choice(first.rows))
    if rows and chance.random() < 0.25:
        index = chance.randrange(len(rows))
        row = rows[index]
        moved = (f"q{row.number}", *row.cells[1:])
        rows[index] = chance.choice(
            (replace(row, number=0), replace(row, cells=moved), replace(row, number=0, said=TOO_LONG))
        )
        if chance.random() < 0.3:
            rows.append(row)
    if chance.random() < 0.6:
        chance.shuffle(rows)
    errors = chance.choice(((), ("error_code", "error_column", "error_message"), ("code", "column", "message")))
    return worked_on(chance, File(rows, ("row", *errors)))


def _corrected(row: Row) -> Row:
    cells = dict(zip(COLUMNS, row.cells, strict=True))
    right = {"name": f"Row {row.number}", "category": "tea", "price": "1", "description": f"{SECRET}-{row.number}"}
    wrong = {column for column, cell, _ in (*_WRONG, ("description", "", "")) if cells[column] == cell}
    return replace(row, cells=tuple(right[name] if name in wrong else cells[name] for name in COLUMNS))


def days(chance: random.Random) -> float:
    """Days that pass before a retry."""
    return chance.choice(_DAYS)
