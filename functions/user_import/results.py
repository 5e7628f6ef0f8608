"""The result file: one result for every row of the import."""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass

from runtime.csv_records import writer

from .bucket import date_in_name, folder_of
from .errors import InvalidImport, InvalidResultFile
from .outcomes import Outcome

COLUMNS = ("No.", "CSVRowNumber", "result", "UserId", "UserArn", "errorMessage")
SUCCESS, FAILURE = "Success", "False"

_NAME, _VALIDATION, _OF = "UserCreateResult_", "_validate_only", "_of_"
_RESULT = re.compile(rf"(?P<plain>.*?)(?P<validation>{_VALIDATION})?(?:{_OF}(?P<import_id>[^/]+))?\.csv", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ResultKey:
    """The parts of a result file's key. folder: "", or ends with a slash. date: yyyymmdd.

    import_id: of an import that a newer one of the same file has overtaken; "" for the newest.
    """

    folder: str
    date: str
    validate_only: bool
    import_id: str = ""

    def __str__(self) -> str:
        validation = _VALIDATION if self.validate_only else ""
        return f"{self.folder}{_NAME}{self.date}{validation}{_OF if self.import_id else ''}{self.import_id}.csv"

    @classmethod
    def parse(cls, key: str) -> "ResultKey":
        """The inverse of str(). Raises InvalidImport for the field retry_of."""
        name = _RESULT.fullmatch(key)
        date = date_in_name(f"{name['plain']}.csv", _NAME) if name else None
        if name is None or date is None:
            raise InvalidImport(f"retry_of: must end in {_NAME}<yyyymmdd>.csv or {_NAME}<yyyymmdd>{_VALIDATION}.csv")
        return cls(folder_of(key), date, name["validation"] is not None, name["import_id"] or "")


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
        """The result of a row's outcome. The ARN of a user derives from its instance's."""
        arn = f"{instance_arn}/agent/{outcome.user_id}" if outcome.user_id else ""
        return cls(outcome.number, outcome.succeeded, outcome.user_id, arn, outcome.message)


def write(results: Iterable[Result]) -> bytes:
    """The result file: UTF-8, rows in the order given, numbered from 1."""
    text = io.StringIO(newline="")
    write = writer(text, "\r\n")
    write(COLUMNS)
    for number, result in enumerate(results, start=1):
        write(_cells(number, result))
    return text.getvalue().encode()


def read(data: bytes) -> list[Result]:
    """The rows of a result file. Raises InvalidResultFile."""
    try:
        header, *rows = csv.reader(io.StringIO(data.decode("utf-8-sig"), newline=""))
        if tuple(header) != COLUMNS:
            raise InvalidResultFile("retry_of: its first line is not the header of a result file")
        return [_result(row) for row in rows if row]
    except (ValueError, csv.Error):
        raise InvalidResultFile("retry_of: not a result file, or a modified one") from None


def _cells(number: int, result: Result) -> tuple[str, ...]:
    word = SUCCESS if result.succeeded else FAILURE
    return (str(number), str(result.csv_row), word, result.user_id, result.user_arn, result.error_message)


def _result(row: list[str]) -> Result:
    _, csv_row, word, user_id, user_arn, message = row
    # A spreadsheet saves False as FALSE.
    succeeded = {SUCCESS.upper(): True, FAILURE.upper(): False}.get(word.upper())
    if succeeded is None:
        raise ValueError("neither Success nor False")
    return Result(int(csv_row), succeeded, user_id, user_arn, message)
