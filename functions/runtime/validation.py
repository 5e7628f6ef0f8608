"""Validation errors of msgspec, in words that may be logged."""

import re

_PATH = re.compile(r"^(?P<problem>.*) - at `\$\.?(?P<path>[^`]*)`$", re.DOTALL)
# The message names an unknown field, however long its name is.
_MAX_PROBLEM = 100
_QUOTED_VALUE = re.compile(r"^Invalid enum value .*$", re.DOTALL)


def explained(message: str, whole: str) -> str:
    """A `msgspec.ValidationError`'s message as `path: problem`, without any value of the document.

    whole: what to call the document if no field can be named.
    """
    match = _PATH.match(message)
    problem, path = (match["problem"], match["path"]) if match else (message, None)
    problem = _QUOTED_VALUE.sub("not one of the allowed values", problem)
    return f"{path or whole}: {problem[:_MAX_PROBLEM]}"
