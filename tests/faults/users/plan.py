"""The imports of a schedule: a file of users, its newer versions, and who else imports it."""

import csv
import io
import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.faults.users.schedule import Schedule

SECRET = "hush"
"""Content of every secret cell."""

COLUMNS = ("No.", "username", "default_password", "first_name", "last_name", "email", "security_profile")
UPLOADED, BY_HAND = "TestFile_20261122.csv", "manual/TestFile_20261122.csv"
DEFAULT_PROFILE = "Agent"
# Wrong cells, and the code of their row. "": a cell too many.
_WRONG = (
    ("password", "hush", "PasswordTooShort"),
    ("first_name", "", "FirstNameMissing"),
    ("email", "hush", "EmailInvalid"),
    ("extra", "hush", "WrongColumnCount"),
)
_NOT_ALLOWED = "SecurityProfileNotAllowed"
_DAYS = (0, 0, 0, 1, 5, 20, 95)


@dataclass(frozen=True, slots=True)
class Row:
    """A row of a file. wrong: the code of its own cells, if one is wrong."""

    username: str
    password: str
    first_name: str
    last_name: str
    email: str = ""
    profile: str = ""
    extra: str = ""
    wrong: str = ""

    @property
    def cells(self) -> list[str]:
        more = [self.extra] if self.extra else []
        return [self.username, self.password, self.first_name, self.last_name, self.email, self.profile, *more]

    @property
    def identity(self) -> tuple[str, ...]:
        """The values that make its user: everything except the password."""
        return (self.username, self.first_name, self.last_name, self.email, self.profile or DEFAULT_PROFILE)


@dataclass(frozen=True, slots=True)
class File:
    """A file. header: the names of its columns. gap: rows of empty cells before each row. padding: empty columns at the
    end.

    open: the last row opens a quote.
    """

    rows: Sequence[Row]
    header: tuple[str, ...] = COLUMNS
    gap: int = 0
    padding: tuple[str, ...] = ()
    open: bool = False

    @property
    def data(self) -> bytes:
        out = io.StringIO(newline="")
        writer = csv.writer(out, lineterminator="\n")
        writer.writerow((*self.header, *self.padding))
        for number, row in zip(self.numbers, self.rows, strict=True):
            writer.writerows([[""] * len(COLUMNS)] * self.gap)
            writer.writerow((number, *row.cells, *self.padding))
        return (out.getvalue() + ('"99,hush\n' if self.open else "")).encode()

    @property
    def numbers(self) -> Sequence[int]:
        """Numbers of the rows."""
        return range(self.gap + 1, (self.gap + 1) * len(self.rows) + 1, self.gap + 1)

    @property
    def refusals(self) -> set[str]:
        """Errors of an import of the file."""
        wrong = {"InvalidHeader"} if self.header != COLUMNS else set()
        return wrong or ({"UnclosedQuote"} if self.open else set())

    @property
    def codes(self) -> list[str]:
        """The reason to refuse each row, regardless of existing users; empty if there is none."""
        first: dict[str, int] = {}
        for number, row in enumerate(self.rows):
            if not row.extra:
                first.setdefault(row.username, number)
        return [self._code(number, row, first) for number, row in enumerate(self.rows)]

    def row(self, number: int) -> tuple[Row | None, str]:
        """Return the row with this number, and its code; None if there is none."""
        known = zip(self.numbers, self.rows, self.codes, strict=True)
        return next(((row, code) for of, row, code in known if of == number), (None, ""))

    def _code(self, number: int, row: Row, first: dict[str, int]) -> str:
        if row.wrong and row.wrong != _NOT_ALLOWED:
            return row.wrong
        return "UsernameRepeated" if first[row.username] != number else row.wrong


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a schedule.

    own_instance: whether the import creates its instance. others: who else starts an import, and when.
    lag: seconds until SearchUsers finds a user. throttles: whether Connect accepts only two calls a second.
    taken: users that a person created before. rests: retries that follow, each after this many days.
    """

    first: File
    uploaded: bool
    twice: bool
    own_instance: bool
    validate_only: bool
    others: Sequence[tuple[float, str]]
    lag: float
    throttles: bool
    taken: int
    rests: Sequence[float]


def plan(schedule: Schedule) -> Plan:
    chance = schedule.chance("plan")
    rows = [_row(chance, number) for number in range(1, chance.choice((1, 2, 3, 3, 4, 6)) + 1)]
    if len(rows) > 2 and chance.random() < 0.2:
        rows[-1] = replace(rows[-1], username=rows[0].username)
    file = File(rows)
    if chance.random() < 0.04:
        file = replace(file, header=("No.", "user", *COLUMNS[2:]))
    file = worked_on(schedule.chance("file"), file)
    uploaded, own_instance = chance.random() < 0.6, chance.random() < 0.5
    others = ("newer", "newer", "again", "other", "newest", *(("reset",) if own_instance else ()))
    return Plan(
        first=file,
        uploaded=uploaded,
        twice=chance.random() < 0.2,
        own_instance=own_instance,
        validate_only=not uploaded and chance.random() < 0.25,
        others=[
            (chance.choice((0.0, 0.1, chance.uniform(0, 4), chance.uniform(0, 30))), chance.choice(others))
            for _ in range(chance.choice((0, 0, 0, 1, 1, 2)))
        ],
        lag=chance.choice((0, 0, 1, 4, 40)),
        throttles=chance.random() < 0.4,
        taken=chance.choice((0, 0, 0, 1)),
        rests=[chance.choice(_DAYS) for _ in range(chance.choice((0, 1, 1, 2)))],
    )


def newer(chance: random.Random, file: File) -> File:
    """Return a version of the file that somebody has edited."""
    rows = list(file.rows)
    for number, row in enumerate(rows):
        match chance.choice(("", "", "", "password", "name", "right", "wrong")):
            case "password":
                rows[number] = replace(row, password=f"{row.password}2")
            case "name":
                rows[number] = replace(row, last_name=f"Hush{chance.randint(10, 99)}")
            case "right" if row.wrong:
                rows[number] = _right(chance, row.username)
            case "wrong" if chance.random() < 0.3:
                rows[number] = _wrong(chance, row)
    if chance.random() < 0.1:
        rows.append(_row(chance, len(rows) + 1))
    if chance.random() < 0.15:
        chance.shuffle(rows)
    return replace(worked_on(chance, File(rows)), open=False)


def worked_on(chance: random.Random, file: File) -> File:
    """Return the file as a spreadsheet, or damage, leaves it."""
    padding = chance.choice(((), (), ("",), ("", " ")))
    return replace(file, gap=chance.choice((0, 0, 1, 2)), padding=padding, open=chance.random() < 0.04)


def _row(chance: random.Random, number: int) -> Row:
    row = _right(chance, f"hush.{number}")
    return _wrong(chance, row) if chance.random() < 0.15 else row


def _right(chance: random.Random, username: str) -> Row:
    word = f"{username[5:]}{chance.randint(100, 999)}"
    email = f"hush{word}@example.com" if chance.random() < 0.5 else ""
    return Row(username, f"Hush-pw{word}", f"Hushtaro{word}", f"Hushyama{word}", email)


def _wrong(chance: random.Random, row: Row) -> Row:
    if chance.random() < 0.2:
        return replace(row, profile="Admin", wrong=row.wrong or _NOT_ALLOWED)
    name, cell, code = chance.choice(_WRONG)
    return replace(_right(chance, row.username), **{name: cell}, wrong=code)
