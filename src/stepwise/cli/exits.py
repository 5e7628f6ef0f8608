"""Errors as scripts see them: each kind, and its exit code; docs/cli.md lists both."""

from typing import Any

from stepwise.operations.errors import Kind, kind

DONE, FAILED, INVALID, NOT_FOUND, REFUSED, UNAVAILABLE, STILL_RUNNING, DEFECT = 0, 1, 2, 3, 4, 5, 6, 70

KINDS: dict[int, Kind] = {
    FAILED: "failed",
    INVALID: "invalid",
    NOT_FOUND: "not_found",
    REFUSED: "refused",
    UNAVAILABLE: "unavailable",
    STILL_RUNNING: "still_running",
    DEFECT: "defect",
}
_CODES = {word: number for number, word in KINDS.items()}


def code(error: BaseException) -> int:
    """Return the exit code for an error; DEFECT for one that no command expects."""
    return _CODES[kind(error)]


def document(error: BaseException, hint: str = "") -> dict[str, Any]:
    """Return an error as a script gets it. hint: a command that continues from here."""
    number = code(error)
    told = {"kind": KINDS[number], "type": type(error).__name__, "message": message(error), "exit_code": number}
    return {"error": {**told, "command": hint} if hint else told}


def message(error: BaseException) -> str:
    """Return the sentence of an error; that of an invalid call names the option."""
    usage = getattr(error, "format_message", None)
    return str(usage() if usage else error)
