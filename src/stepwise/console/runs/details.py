"""One state of an execution: its visits, input, output, attempts, cause and log lines."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from idempotency.payloads import read_json
from stepwise.console import redaction
from stepwise.console.cache import Recent
from stepwise.console.pages import Visit
from stepwise.operations import histories, logs
from stepwise.operations.histories import History
from stepwise.operations.logs import Line
from stepwise.operations.machines import Described
from stepwise.operations.state_visits import StateVisit

from .graph import State
from .looks import KINDS, MARKS, word

_CLOCKS_DIFFER, _LATE = timedelta(seconds=1), timedelta(seconds=5)
_MAX_LISTED = 100
_MAX_LINES = 100
_OLD = timedelta(minutes=1)
# Attributes of every line, which are not specific to it.
_USUAL = frozenset({"timestamp", "level", "message", "logger", "requestId", "function_request_id", "xray_trace_id"})
# Attributes with equal values in many executions.
_SHARED = frozenset({"tenant_code"})

_documents: Recent[tuple[str, str]] = Recent(128)
_groups: Recent[str] = Recent(256, seconds=600)
_new_lines: Recent[list[Line]] = Recent(64, seconds=2)
_old_lines: Recent[list[Line]] = Recent(64)


@dataclass(frozen=True, slots=True)
class Detail:
    """The details of one state.

    number: the number of the shown visit. visits: numbers and visits of the same state.
    input and output: redacted text.
    group: the function's log group, if it has one.
    """

    name: str
    state: State
    number: int | None
    visit: StateVisit | None
    visits: Sequence[tuple[int, StateVisit]]
    word: str
    input: str
    output: str
    message: str
    group: str
    lines: Sequence[Line]

    @property
    def mark(self) -> str:
        return MARKS.get(self.word, "")

    @property
    def kind(self) -> str:
        return KINDS.get(self.word, "none")


def detail(visit: Visit, described: Described, history: History, name: str, state: State) -> Detail:
    """Return the details of a state for a page."""
    seen = [(number, one) for number, one in enumerate(history.visits) if one.name == name]
    number, chosen = next(
        (pair for pair in seen if str(pair[0]) == visit.asked("visit")), seen[-1] if seen else (None, None)
    )
    if chosen is None:
        return Detail(name, state, None, None, [], "not reached", "", "", "", "", [])
    entered, left = _texts(visit, described, chosen, history.events)
    group = _group(visit, state)
    return Detail(
        name,
        state,
        number,
        chosen,
        seen[-_MAX_LISTED:],
        word(chosen, described.listed.status),
        entered,
        left,
        redaction.redacted_text(chosen.message),
        group,
        _lines(visit, described, chosen, group) if group else [],
    )


def _texts(visit: Visit, described: Described, chosen: StateVisit, total: int) -> tuple[str, str]:
    """Return input and output, redacted. total: how many events there are."""
    wanted = {chosen.first, chosen.last} - {0}

    def read() -> tuple[str, str]:
        events = {event["id"]: event for event in histories.events_of(visit.stack, described.arn, wanted, total)}
        entered = events.get(chosen.first, {}).get("stateEnteredEventDetails", {})
        left = events.get(chosen.last, {}).get("stateExitedEventDetails", {})
        return redaction.shown(entered.get("input")), redaction.shown(left.get("output"))

    return _documents.get((described.key, chosen.first, chosen.last), read)


def _group(visit: Visit, state: State) -> str:
    """Return the log group of a state's function; empty if it calls none."""
    parameters = state.get("Parameters") or state.get("Arguments") or {}
    function = parameters.get("FunctionName") if isinstance(parameters, dict) else None
    if not isinstance(function, str):
        return ""
    return _groups.get(function, lambda: _read_group(visit, function))


def _read_group(visit: Visit, function: str) -> str:
    try:
        found = visit.stack.client("lambda").get_function_configuration(FunctionName=function)
    except ClientError:
        # Not allowed, or removed since: the page still has everything else.
        return ""
    return str(found.get("LoggingConfig", {}).get("LogGroup") or f"/aws/lambda/{found['FunctionName']}")


def _lines(visit: Visit, described: Described, chosen: StateVisit, group: str) -> list[Line]:
    until = chosen.exited if chosen.ended else described.listed.ended or datetime.now(UTC)
    old = datetime.now(UTC) - until > _OLD
    key = (described.key, chosen.first, chosen.last, group)

    def read() -> list[Line]:
        found = logs.of_function(visit.stack, group, chosen.entered - _CLOCKS_DIFFER, until + _LATE)
        return [line for line in found if belongs(line.fields, described.listed.name, ids(described.input))][
            -_MAX_LINES:
        ]

    return (_old_lines if old else _new_lines).get(key, read)


def belongs(fields: Mapping[str, Any], name: str, own: Mapping[str, str]) -> bool:
    """True if a line belongs to this execution: it names the execution, or all ids that both have are equal."""
    common = {field for field in own if field in fields}
    if common - _SHARED:
        return all(str(fields[field]) == own[field] for field in common)
    return name in map(str, fields.values())


def ids(text: str) -> dict[str, str]:
    """Return the ids in an execution's input: its keys, and every field that ends in `_id`."""
    try:
        document = read_json(text)
    except ValueError:
        return {}
    fields = document.items() if isinstance(document, dict) else ()
    return {
        name: str(value)
        for name, value in fields
        if isinstance(value, str | int) and (name in ("pk", "sk", "tenant_code") or name.endswith("_id"))
    }


def told(line: Line) -> str:
    """Format a line's fields in one line, without the common ones."""
    more = " ".join(f"{name}={value}" for name, value in line.fields.items() if name not in _USUAL)
    text = f"{line.fields.get('level', '')} {line.fields.get('message', '')} {more}".strip()
    return redaction.redacted_text(text)
