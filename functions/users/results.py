"""The result file: one row for every row of the import."""

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass

from .errors import InvalidResultFile
from .outcomes import Outcome

COLUMNS = ("No.", "CSVRowNumber", "result", "UserId", "UserArn", "errorMessage")
SUCCESS, FAILURE = "Success", "False"

# A spreadsheet runs a cell that starts with one of these.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r", "\n")


@dataclass(frozen=True, slots=True)
class Result:
    """One row of the result file. csv_row: the row's number in the imported file, 1 after the header."""

    csv_row: int
    succeeded: bool
    user_id: str = ""
    user_arn: str = ""
    error_message: str = ""

    @classmethod
    def of(cls, outcome: Outcome, instance_arn: str) -> "Result":
        """What the outcome of a row comes to. The ARN of a user derives from that of its instance."""
        arn = f"{instance_arn}/agent/{outcome.user_id}" if outcome.user_id else ""
        return cls(outcome.number, not outcome.code, outcome.user_id, arn, outcome.message)


def write(results: Iterable[Result]) -> bytes:
    """The result file: UTF-8, rows in the order given, numbered from 1."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for number, result in enumerate(results, start=1):
        writer.writerow([_safe(cell) for cell in _cells(number, result)])
    return text.getvalue().encode()


def read(data: bytes) -> list[Result]:
    """The rows of a result file. Raises InvalidResultFile."""
    try:
        header, *rows = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        if tuple(header) != COLUMNS:
            raise InvalidResultFile("retry_of: its first line is not that of a result file")
        return [_result(row) for row in rows if row]
    except ValueError:
        raise InvalidResultFile("retry_of: not a result file, or one that was changed") from None


def _cells(number: int, result: Result) -> tuple[str, ...]:
    word = SUCCESS if result.succeeded else FAILURE
    return (str(number), str(result.csv_row), word, result.user_id, result.user_arn, result.error_message)


def _safe(cell: str) -> str:
    return f"'{cell}" if cell.startswith(_FORMULA_STARTS) else cell


def _result(row: list[str]) -> Result:
    _, csv_row, word, user_id, user_arn, message = row
    if word.upper() not in (SUCCESS.upper(), FAILURE.upper()):
        raise ValueError("neither Success nor False")
    return Result(int(csv_row), word == SUCCESS, user_id, user_arn, message)
