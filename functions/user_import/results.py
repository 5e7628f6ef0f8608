"""The outcome of a row, with the sentence that says how to fix it; the result file: one result for every row."""

import csv
import io
import re
from collections.abc import Iterable
from dataclasses import dataclass

from runtime.csv_records import writer

from .bucket import date_in_name, folder_of
from .errors import InvalidImport, InvalidResultFile

_CODE = re.compile(r"[A-Za-z0-9_.]{1,80}\Z")
_TRY_AGAIN = "Run the failed rows again."
_TRY_SAFELY = f"{_TRY_AGAIN} A retry will not create a duplicate user."

# The outcome of a row until its own is known.
NOT_REGISTERED = "NotRegistered"
# The only code of a successful row. One character in state data, where every byte counts.
PASSWORD_NOT_SET, _PASSWORD_NOT_SET = "PasswordNotSet", "="

SENTENCES = {
    "WrongEncoding": "The row is not in the encoding of the import. Save the file as CSV in UTF-8.",
    "WrongColumnCount": "The row has more or fewer cells than the header. Put a cell with a comma in double quotes.",
    "QuoteNotDoubled": 'Write a quote inside a quoted cell twice (""), and nothing after a closing quote.',
    "RowSpansLines": "The row spans several lines of the file: a quote in it is missing or left over, and hides the "
    "rows on them. Correct the file, and import all of it.",
    "UsernameMissing": "Give a username.",
    "UsernameTooLong": "Shorten the username to 20 characters.",
    "UsernameInvalid": "Use only letters a-z, digits and _ - . @ in the username, and no space.",
    "UsernameNotEmail": "A username with @ must be a whole e-mail address.",
    "UsernameRepeated": "An earlier row has the same username. Give each user one row.",
    "PasswordMissing": "Give a default password.",
    "PasswordTooShort": "Make the password at least 8 characters long.",
    "PasswordTooLong": "Make the password at most 64 characters long.",
    "PasswordHasSpace": "Remove the space, line break or hidden character from the password.",
    "PasswordTooWeak": "Put a lower-case letter, an upper-case letter and a digit into the password.",
    "FirstNameMissing": "Give a first name.",
    "FirstNameTooLong": "Shorten the first name to 255 characters.",
    "FirstNameNotAllowed": "Type the first name again: it has a control character or another one that is no text.",
    "LastNameMissing": "Give a last name.",
    "LastNameTooLong": "Shorten the last name to 256 characters.",
    "LastNameNotAllowed": "Type the last name again: it has a control character or another one that is no text.",
    "EmailInvalid": "Correct the e-mail address, or leave it empty.",
    "PhoneInvalid": "Write the phone number as + and up to 15 digits, country first, or leave it empty.",
    "SecurityProfileNotAllowed": "Leave the security profile empty, or have it added to AllowedSecurityProfiles.",
    "SecurityProfileUnknown": "The instance has no security profile of this name. Correct it, or create the profile.",
    "RoutingProfileUnknown": "The instance has no routing profile of this name. Correct it, or create the profile.",
    "UserExists": "A user of this name already exists and was not changed. Choose another username, or remove the row.",
    PASSWORD_NOT_SET: "This row had already created the user. If the row has a new password, set it in Connect.",
    "UserQuotaExceeded": "The instance is full. Raise its quota of users, then run the failed rows again.",
    "ConnectRefused": "Connect rejected the row for an unknown reason. Add an e-mail address, or check every cell.",
    "ConnectDenied": "The import lacks a permission in Connect. Ask for it, then run the failed rows again.",
    "InstanceNotFound": "The instance, or a profile in it, is gone. Start the import again.",
    "ConnectThrottled": f"Connect throttled the row for too long. {_TRY_AGAIN}",
    "ConnectUnavailable": f"Connect did not answer; the user may exist. {_TRY_SAFELY}",
    "UserNotVisible": f"Connect says that the user exists but does not list it. {_TRY_AGAIN}",
    "InstanceAliasInUse": f"The instance is still being set up. {_TRY_AGAIN}",
    "BucketUnavailable": f"The file could not be read. {_TRY_AGAIN}",
    "NoImportFile": "The file, or its version, was deleted while the import ran. Upload it again.",
    "AlreadyInProgress": f"Another call was processing the row. {_TRY_SAFELY}",
    "Contention": f"Too many calls wrote at the same time. {_TRY_AGAIN}",
    "LeaseLost": f"The row took too long. {_TRY_SAFELY}",
    "StoreUnavailable": f"The records of the import could not be reached. {_TRY_SAFELY}",
    "UnexpectedFailure": "The import has a defect. An operator finds it in the log of UserCreate.",
    "States.Timeout": f"The row took too long; the user may exist. {_TRY_SAFELY}",
    "Lambda.Unknown": f"The function crashed; the user may exist. {_TRY_SAFELY}",
    "Runtime.ExitError": f"The function crashed; the user may exist. {_TRY_SAFELY}",
    "Runtime.OutOfMemory": f"The function ran out of memory; the user may exist. {_TRY_SAFELY}",
    "Sandbox.Timedout": f"The row took too long; the user may exist. {_TRY_SAFELY}",
    "Lambda.TooManyRequestsException": f"Lambda throttled the function for too long. {_TRY_AGAIN}",
    "Lambda.ServiceException": f"Lambda failed. {_TRY_SAFELY}",
    "Lambda.AWSLambdaException": f"Lambda failed. {_TRY_SAFELY}",
    "Lambda.SdkClientException": f"Lambda could not be reached. {_TRY_SAFELY}",
    "Lambda.ClientExecutionTimeoutException": f"Lambda did not answer. {_TRY_SAFELY}",
    NOT_REGISTERED: f"The import ended before the row's outcome was known; the user may exist. {_TRY_AGAIN}",
}
_UNLISTED = f"The row failed; an operator finds the reason in the execution. {_TRY_SAFELY}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a row. number: the row's. code: "" or PASSWORD_NOT_SET for success. user_id: "" without a user."""

    number: int
    code: str = ""
    user_id: str = ""

    def __str__(self) -> str:
        return f"{self.number}:{self.ending}"

    @property
    def ending(self) -> str:
        """Everything but the number, as the row's lease stores it."""
        code = _PASSWORD_NOT_SET if self.code == PASSWORD_NOT_SET else self.code
        return f"{code}:{self.user_id}"

    @classmethod
    def parse(cls, text: str) -> "Outcome":
        """The inverse of str(). Raises ValueError."""
        number, _, rest = text.partition(":")
        code, _, user_id = rest.rpartition(":")
        return cls(int(number), PASSWORD_NOT_SET if code == _PASSWORD_NOT_SET else code, user_id)

    @property
    def succeeded(self) -> bool:
        return self.code in ("", PASSWORD_NOT_SET)

    @property
    def message(self) -> str:
        """Code and sentence; "" without a code."""
        return explained(self.code) if self.code else ""


def explained(code: str) -> str:
    """A code, followed by how to fix it."""
    known = code if _CODE.match(code) else "Unknown"
    return f"{known}: {SENTENCES.get(known, _UNLISTED)}"


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
