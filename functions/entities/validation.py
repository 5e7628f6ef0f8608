"""Parsers whose message starts with the path of the field, also of one that is missing or unknown."""

import re
from collections.abc import Callable
from typing import Any

from runtime.validation import parser

from .errors import InvalidCommand

# The message may be cut off within a long name.
_FIELD = re.compile(
    r"^(?P<at>[^:]*): Object (?P<problem>missing required|contains unknown) field `(?P<name>.*?)`?$", re.DOTALL
)
_PROBLEMS = {"missing required": "required", "contains unknown": "unknown field"}


def command_parser[T](kind: type[T], whole: str) -> Callable[[Any], T]:
    """A function that reads parsed JSON into `kind`, a msgspec.Struct. It raises InvalidCommand.

    whole: what to call the document if no field can be named.
    """
    return named_parser(kind, InvalidCommand, whole)


def named_parser[T](kind: type[T], refusal: type[Exception], whole: str) -> Callable[[Any], T]:
    """As `command_parser`, with another error."""
    parse = parser(kind, refusal, whole)

    def parse_named(document: Any) -> T:
        try:
            return parse(document)
        except refusal as problem:
            raise refusal(_named(str(problem), whole)) from None

    return parse_named


def _named(message: str, whole: str) -> str:
    match = _FIELD.match(message)
    if match is None:
        return message
    path = match["name"] if match["at"] == whole else f"{match['at']}.{match['name']}"
    return f"{path}: {_PROBLEMS[match['problem']]}"
