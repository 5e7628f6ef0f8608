"""Validation errors of msgspec, in words that may be logged."""

import re
from collections.abc import Callable, Collection
from typing import Any

import msgspec

from . import text

_PATH = re.compile(r"^(?P<problem>.*) - at `\$\.?(?P<path>[^`]*)`$", re.DOTALL)
# msgspec's message names an unknown field, however long its name is.
_MAX_PROBLEM = 100
# The message may be cut off within a long name.
_FIELD = re.compile(r"^Object (?P<problem>missing required|contains unknown) field `(?P<name>.*?)`?$", re.DOTALL)
_PROBLEMS = {"missing required": "required", "contains unknown": "unknown field"}
_QUOTED_VALUE = re.compile(r"^Invalid enum value .*$", re.DOTALL)


class InvalidEvent(Exception):
    """AWS delivered a different event than the function subscribed to.

    The message starts with the path of the field.
    """


def parser[T](
    kind: type[T],
    refusal: type[Exception] = InvalidEvent,
    whole: str = "the event",
    *,
    strict: bool = True,
    lines: Collection[str] = (),
    free_text: Collection[str] = (),
) -> Callable[[Any], T]:
    """Return a function that reads parsed JSON into `kind`, a msgspec.Struct.

    It raises `refusal`, whose message starts with the path of the field, even for a missing or unknown one, and never
    repeats a value.
    whole: what to call the document if no field can be named. strict: a number in a string does not count as one.
    lines: one-line fields that people read. free_text: those that may have more lines. Both as `runtime.text.problem`.
    """

    def parse(document: Any) -> T:
        try:
            parsed = msgspec.convert(document, kind, strict=strict)
            for names, many in ((lines, False), (free_text, True)):
                for name in names:
                    check_text(name, getattr(parsed, name), refusal, lines=many)
            return parsed
        except msgspec.ValidationError as error:
            raise refusal(_explained(str(error), whole)) from None
        except UnicodeEncodeError:
            raise refusal(f"{whole}: a field's name is not valid Unicode") from None

    return parse


def check_text(name: str, value: Any, refusal: type[Exception], *, lines: bool = False) -> None:
    """Check a field that people read; an unset value passes. Raises `refusal`."""
    if isinstance(value, str) and (problem := text.problem(value, lines=lines)):
        raise refusal(f"{name}: {text.SENTENCES[problem]}")


def _explained(message: str, whole: str) -> str:
    match = _PATH.match(message)
    problem, path = (match["problem"], match["path"]) if match else (message, None)
    problem = _QUOTED_VALUE.sub("not one of the allowed values", problem)[:_MAX_PROBLEM]
    # JSON has no decimal type.
    problem = problem.replace("got `decimal`", "got `float`")
    if field := _FIELD.match(problem):
        name = f"{path}.{field['name']}" if path else field["name"]
        return f"{name}: {_PROBLEMS[field['problem']]}"
    return f"{path or whole}: {problem}"
