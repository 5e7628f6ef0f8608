"""Page of one execution: its graph, its timeline, one of its states, and related data."""

import json
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from stepwise.console import redaction
from stepwise.console.cache import Recent
from stepwise.console.pages import Visit
from stepwise.console.rendering import quote_path
from stepwise.operations import business_keys, histories, machines
from stepwise.operations.histories import History
from stepwise.operations.machines import Described
from stepwise.operations.stack import Stack

from . import details, graph
from .looks import Items, Looks, looks
from .related import related
from .timeline import Timeline, timeline


@dataclass(frozen=True, slots=True)
class _Drawn:
    """The drawn states and times."""

    looks: Looks
    timeline: Timeline


@dataclass(slots=True)
class _Read:
    """The history of one execution, as far as it was read. Hold the lock while reading it."""

    history: History = field(default_factory=History)
    lock: threading.Lock = field(default_factory=threading.Lock)


_ended: Recent[_Drawn] = Recent(64)
# A long history has 25,000 events, about 5,000 visits of 1 KB.
_histories: Recent[_Read] = Recent(8)
_definitions: Recent[str] = Recent(64)


def view(visit: Visit) -> Mapping[str, Any]:
    described = machines.described(visit.stack, visit.path["machine"], visit.path["name"])
    found, drawing = _history_of(described), graph.drawing(_definition(visit.stack, described))
    state = visit.asked("state")
    with found.lock:
        _advance(visit.stack, described, found)
        drawn = _drawn(visit, described, found.history)
        chosen = (
            details.detail(visit, described, found.history, state, drawing.states[state])
            if state in drawing.states
            else None
        )
        events = found.history.events
    return {
        "described": described,
        "run": described.listed,
        "key": business_keys.of(described.listed.machine, described.listed.name, described.input),
        "drawing": drawing,
        "looks": drawn.looks,
        "timeline": drawn.timeline,
        "events": events,
        "subject": subject(described.listed.machine, described.listed.name, described.input),
        "detail": chosen,
        "related": related(visit, described),
        "input": redaction.shown(described.input),
        "output": redaction.shown(described.output),
        "cause": redaction.redacted_text(described.cause),
        "line": details.told,
    }


def _drawn(visit: Visit, described: Described, history: History) -> _Drawn:
    """Draw; cached for an execution that has ended."""
    run = described.listed

    def draw() -> _Drawn:
        end = run.ended or datetime.now(UTC)
        return _Drawn(
            looks(history.visits, run.status, _map_runs(visit.stack, history)),
            timeline(history.visits, run.status, run.started, max(end, run.started + timedelta(milliseconds=1))),
        )

    return _ended.get((described.key, history.events, run.status), draw) if run.ended else draw()


def subject(machine: str, name: str, document: str) -> tuple[str, str] | None:
    """Return the subject and the address of its page; None if it has none.

    document: the execution's input, as JSON text.
    """
    try:
        return _subject(machine, name, json.loads(document))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _subject(machine: str, name: str, given: Any) -> tuple[str, str] | None:
    match machine:
        case "OrderSaga" | "OrderRecovery":
            return "Order", _address("orders", given["order_id"])
        case "AccountOpening" | "AccountSetup":
            return "Application", _address("applications", name)
        case "Command":
            return "Key", _address("commands", given["pk"].removeprefix("TENANT#"), given["sk"])
        case "Task":
            return "Task", _address("tasks", given["tenant_code"], given["task_id"])
        case "ImportCsv" | "ImportZip":
            return "Import", _address("imports", given["tenant_code"], name)
    return None


def _address(*parts: str) -> str:
    return "/" + "/".join(map(quote_path, parts))


def _history_of(described: Described) -> _Read:
    return _histories.get(described.key, _Read)


def _advance(stack: Stack, described: Described, found: _Read) -> None:
    """Read the new events. Called with the lock."""
    # A redrive continues after an end.
    if not (found.history.over and described.listed.ended):
        histories.read(stack, described.arn, found.history)


def _definition(stack: Stack, described: Described) -> str:
    return _definitions.get(described.key, lambda: machines.definition(stack, described.arn))


def _map_runs(stack: Stack, history: History) -> dict[str, Items]:
    """Return the items of the execution's Map Runs, by ARN."""
    arns = {visit.map_run for visit in history.visits if visit.map_run}
    return {arn: _items(machines.map_run(stack, arn)) for arn in arns}


def _items(counts: dict[str, int]) -> Items:
    failed = sum(counts.get(name, 0) for name in ("failed", "timedOut", "aborted"))
    return Items(counts.get("succeeded", 0), failed, counts.get("running", 0), counts.get("total"))
