"""Causes of failed executions, or of their failed states."""

from dataclasses import dataclass
from typing import Any

from idempotency.payloads import read_json


@dataclass(frozen=True, slots=True)
class Cause:
    """A cause. error: the class name. message: its sentence, which may be empty.

    times: how often in a row it happened.
    """

    error: str
    message: str = ""
    times: int = 1

    @property
    def name(self) -> str:
        """The error with its count: `GatewayUnavailable x7`."""
        return f"{self.error} x{self.times}" if self.times > 1 else self.error

    def __str__(self) -> str:
        return f"{self.name}: {self.message}" if self.message else self.name


def message_of(cause: str) -> str:
    """Return the sentence in a cause: of a function's error, of an error that a Catch stored, or the text itself."""
    document = _parsed(cause)
    if isinstance(document, dict) and "errorMessage" in document:
        return str(document["errorMessage"])
    if isinstance(document, dict) and "Error" in document:
        return message_of(str(document.get("Cause") or ""))
    return cause


def _parsed(cause: str) -> Any:
    try:
        return read_json(cause)
    except ValueError:
        return None
