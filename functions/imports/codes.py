"""Reasons to refuse a row or a file: the code, and the sentence that says what is wrong and how to fix it."""

from collections.abc import Mapping

from runtime.csv_records import Flaw
from runtime.text import UNSAFE_TO_PRINT

MISSING_COLUMN, UNKNOWN_COLUMN = "MissingColumn", "UnknownColumn"
UNCLOSED_QUOTE, NOT_CSV, WRONG_ENCODING = "UnclosedQuote", "NotCsv", "WrongEncoding"
NOT_UTF_8, RAGGED_ROW, ROW_TOO_LONG = "NotUtf8", "RaggedRow", "RowTooLong"
REQUIRED, NOT_A_NUMBER, OUT_OF_RANGE, NOT_ALLOWED = "Required", "NotANumber", "OutOfRange", "NotAllowed"
DUPLICATE_KEY, PENDING_COMMAND, STORE_UNAVAILABLE = "DuplicateKey", "PendingCommand", "StoreUnavailable"

MAX_ROW = 64 * 1024
"""Bytes."""
_SHOWN = 80

SENTENCES: Mapping[str, str] = {
    NOT_UTF_8: "The row is not in the encoding of the import. Save the file as CSV in UTF-8, and import all of it.",
    RAGGED_ROW: "The row has more or fewer cells than the header, or a wrong quote. Quote a cell that has a comma.",
    ROW_TOO_LONG: f"The row has more than {MAX_ROW} bytes. Shorten it, or correct a quote that is closed too late.",
    REQUIRED: "The cell is empty. Fill it in{rule}.",
    NOT_A_NUMBER: "The cell is not a whole number. Use digits only.",
    OUT_OF_RANGE: "The value is outside its bounds{rule}. Correct it.",
    NOT_ALLOWED: "The value is not allowed{rule}. Correct it.",
    DUPLICATE_KEY: "Another row has the same key. Leave one row for each key.",
    PENDING_COMMAND: "An older version of this key is pending or blocked. Retry the import after it has finished.",
    STORE_UNAVAILABLE: "The row could not be stored for now. Retry the import.",
}


def sentence(code: str, rule: str = "") -> str:
    """Say what is wrong, and how to fix it. rule: what the column allows; it never repeats a value."""
    return SENTENCES[code].format(rule=f": {rule}" if rule else "")


_FLAWS: Mapping[Flaw, str] = {
    "open": "opens a quote that is not closed. Close it.",
    "space": "has a space after its closing quote. Remove the space.",
    "text": 'has text after its closing quote. Write a quote inside a quoted cell twice: "".',
}


def malformed(flaw: Flaw, cell: int) -> str:
    """The sentence for a wrong quote. cell: from 1."""
    return f"Cell {cell} {_FLAWS[flaw]}"


def ragged(cells: int, columns: int) -> str:
    """The sentence for a row that does not fit its header."""
    counted = "1 cell" if cells == 1 else f"{cells} cells"
    remedy = "Quote a cell that has a comma." if cells > columns else "Add the cells that are missing."
    return f"The row has {counted}, the header has {columns}. {remedy}"


def spans(what: str, lines: int) -> str:
    """A sentence to add if a row is on several lines of the file: a wrong quote may have swallowed other rows."""
    if lines == 1:
        return ""
    return (
        f" {what} spans {lines} lines of the file: if these are rows of their own, a quote is missing or left over. "
        "Correct the file, and import all of it."
    )


def shown(name: str) -> str:
    """Quote a name that comes from outside, for a message."""
    return f'"{escaped(name, _SHOWN)}{"…" if len(name) > _SHOWN else ""}"'


def shown_bytes(name: bytes) -> str:
    """As `shown`, for a name in an unknown encoding."""
    return shown(name.decode("ascii", "backslashreplace"))


def escaped(name: str, length: int) -> str:
    """The start of a name, with escapes for characters that are invisible or control a terminal."""
    return "".join(sign if _is_plain(sign) else f"\\u{ord(sign):04x}" for sign in name[:length])


def _is_plain(sign: str) -> bool:
    return sign.isprintable() and not UNSAFE_TO_PRINT.match(sign) and not "\ufe00" <= sign <= "\ufe0f"
