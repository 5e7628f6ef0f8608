"""The executions of commands, and the callback tokens of those that wait."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from entities.command import Attempt
from idempotency.payloads import read_json
from runtime.machine import Machine

from .request import input_of

if TYPE_CHECKING:
    from mypy_boto3_stepfunctions import SFNClient

RUNNING, SUCCEEDED = "RUNNING", "SUCCEEDED"
_MAX_MESSAGE = 500


@dataclass(frozen=True, slots=True)
class Execution:
    """error: type and message of one that ended without success."""

    status: str
    error: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Executions:
    """client: answers with a `boto3.client("stepfunctions")`. machine: the ARN; empty if only tokens are answered."""

    client: Callable[[], "SFNClient"]
    machine: str = ""

    def start(self, attempt: Attempt) -> None:
        """Start the attempt's execution, once: its name is never used again. Raises ExecutionsUnavailable."""
        Machine(self.client, self.machine).start(attempt.name, input_of(attempt))

    def find(self, attempt: Attempt) -> Execution | None:
        """The attempt's execution; None if there is none. Raises ExecutionsUnavailable."""
        found = Machine(self.client, self.machine).find(attempt.name, error=True)
        return Execution(found.status, error_of(found.status, found.error, found.cause)) if found else None

    def wake(self, tokens: Iterable[str]) -> None:
        """Answer callback tokens; dead ones are ignored. Raises ExecutionsUnavailable."""
        Machine(self.client).wake(tokens)


def error_of(status: str, error: str | None, cause: str | None) -> dict[str, str]:
    """The error of an execution that ended, for the command's row."""
    return {"type": error or f"Execution.{status}", "message": _message(cause or "")[:_MAX_MESSAGE]}


def _message(cause: str) -> str:
    """The message in a cause, which may be Lambda's document of an error, or a catcher's around that."""
    try:
        document = read_json(cause)
    except ValueError:
        return cause
    if not isinstance(document, dict):
        return ""
    inner = document.get("errorMessage") or document.get("Cause") or ""
    return _message(inner) if "Cause" in document else str(inner)
