"""Model of CloudWatch's metric filters, for the pattern syntax in the template, and of state machine logs.

A state machine logs the events of its executions according to its log level, here without their data:
https://docs.aws.amazon.com/step-functions/latest/dg/cw-logs.html#cloudwatch-log-level
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import reduce
from typing import Any

_FATAL = frozenset({"ExecutionAborted", "ExecutionFailed", "ExecutionTimedOut"})
_ERROR = _FATAL | {
    "FailStateEntered",
    *("LambdaFunctionFailed", "LambdaFunctionScheduleFailed", "LambdaFunctionStartFailed", "LambdaFunctionTimedOut"),
    *("MapIterationAborted", "MapIterationFailed", "MapStateAborted", "MapStateFailed"),
    *("ParallelStateAborted", "ParallelStateFailed"),
    *("TaskFailed", "TaskStartFailed", "TaskStateAborted", "TaskSubmitFailed", "TaskTimedOut"),
    "WaitStateAborted",
}
LEVELS: Mapping[str, frozenset[str] | None] = {"ALL": None, "ERROR": _ERROR, "FATAL": _FATAL}
"""Types of events logged at each level; None for all types."""
# Members that contain no execution data.
_KEPT = frozenset({"name", "index", "length", "resource", "resourceType"})
_TOKEN = re.compile(r'\s*(?:(?P<path>\$(?:\.\w+)+)|"(?P<text>[^"]*)"|(?P<sign>&&|\|\||!=|=|\(|\)))')


def logged(history: Sequence[Mapping[str, Any]], level: str) -> Iterator[dict[str, Any]]:
    """Yield the events of a history that are logged at a level."""
    types = LEVELS[level]
    for event in history:
        if types is None or event["type"] in types:
            details = next((value for name, value in event.items() if name.endswith("EventDetails")), {})
            kept = {name: value for name, value in details.items() if name in _KEPT}
            yield {"id": str(event["id"]), "type": event["type"], "details": kept}


def matches(pattern: str, line: Mapping[str, Any]) -> bool:
    """Check whether a filter pattern matches a log event. Raises ValueError for syntax that is not modelled."""
    if not (pattern.startswith("{") and pattern.endswith("}")):
        raise ValueError(f"not modelled: {pattern}")
    tokens = list(_tokens(pattern[1:-1].strip()))
    found = _either(tokens, line)
    if tokens:
        raise ValueError(f"not modelled: {pattern}")
    return found


def _tokens(text: str) -> Iterator[tuple[str, str]]:
    """Yield the tokens of a pattern, each with its kind: path, text or sign."""
    at = 0
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None or found.lastgroup is None:
            raise ValueError(f"not modelled: {text[at:]}")
        yield found.lastgroup, found[found.lastgroup]
        at = found.end()


def _either(tokens: list[tuple[str, str]], line: Mapping[str, Any]) -> bool:
    found = _both(tokens, line)
    while _taken(tokens, "||"):
        found = _both(tokens, line) or found
    return found


def _both(tokens: list[tuple[str, str]], line: Mapping[str, Any]) -> bool:
    found = _condition(tokens, line)
    while _taken(tokens, "&&"):
        found = _condition(tokens, line) and found
    return found


def _condition(tokens: list[tuple[str, str]], line: Mapping[str, Any]) -> bool:
    if _taken(tokens, "("):
        found = _either(tokens, line)
        if not _taken(tokens, ")"):
            raise ValueError("a parenthesis is not closed")
        return found
    match tokens[:3]:
        case [("path", path), ("sign", "=" | "!=" as sign), ("text", text)]:
            del tokens[:3]
            value = reduce(lambda part, name: part.get(name, {}), path.split(".")[1:], line)
            # A missing member matches neither = nor !=.
            return isinstance(value, str) and (value == text) == (sign == "=")
    raise ValueError(f"not modelled: {tokens}")


def _taken(tokens: list[tuple[str, str]], sign: str) -> bool:
    if tokens[:1] == [("sign", sign)]:
        del tokens[0]
        return True
    return False
