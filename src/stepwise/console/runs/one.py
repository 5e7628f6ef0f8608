"""The page of one execution: its graph, its timeline, one of its states, and what belongs to it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from stepwise.console import redaction
from stepwise.console.cache import Recent
from stepwise.console.pages import Visit
from stepwise.operations import business_keys, machines
from stepwise.operations.histories import History
from stepwise.operations.machines import Described

from . import details, graph, reading
from .looks import Looks, looks
from .related import related
from .subject import subject
from .timeline import Timeline, timeline


@dataclass(frozen=True, slots=True)
class _Drawn:
    """What became of the states, and when."""

    looks: Looks
    timeline: Timeline


_ended: Recent[_Drawn] = Recent(64)


def view(visit: Visit) -> Mapping[str, Any]:
    described = machines.described(visit.stack, visit.path["machine"], visit.path["name"])
    found, drawing = reading.kept(described), graph.drawing(reading.definition(visit.stack, described))
    state = visit.asked("state")
    with found.lock:
        reading.advance(visit.stack, described, found)
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
    """Computed once for an execution that has ended."""
    run = described.listed

    def draw() -> _Drawn:
        end = run.ended or datetime.now(UTC)
        return _Drawn(
            looks(history.visits, run.status, reading.map_runs(visit.stack, history)),
            timeline(history.visits, run.status, run.started, max(end, run.started + timedelta(milliseconds=1))),
        )

    return _ended.get((described.key, history.events, run.status), draw) if run.ended else draw()
