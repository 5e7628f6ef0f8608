"""The history of an execution, folded into visits of states as its events arrive.

Each event names the previous one (`previousEventId`), so that concurrent branches and iterations stay apart.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from .stack import Stack
from .state_visits import StateVisit, fail, note

_ENDS = {"ExecutionSucceeded", "ExecutionFailed", "ExecutionTimedOut", "ExecutionAborted"}
_CLOSE = ("StateSucceeded", "StateFailed")
_CONTAINERS = ("Map", "Parallel")
_MAX_EVENTS = 1000


@dataclass(frozen=True, slots=True)
class _Place:
    """Position of an event: the visit it belongs to, the Map or Parallel state around it, and the iteration."""

    visit: int | None = None
    inside: int | None = None
    iteration: int | None = None


class History:
    """Visits in the order in which they began. events: how many were read. over: whether the last one ends it."""

    def __init__(self) -> None:
        self.visits: list[StateVisit] = []
        self.events = 0
        self.over = False
        self._places: dict[int, _Place] = {0: _Place()}

    def add(self, events: Iterable[Any]) -> None:
        """Add events in their order. Events that were added before are skipped."""
        for event in events:
            if event["id"] > self.events:
                place = self._places.get(event.get("previousEventId", self.events), _Place())
                self._places[event["id"]] = self._put(event, place)
                self.events, self.over = event["id"], event["type"] in _ENDS

    def _put(self, event: Any, place: _Place) -> _Place:
        kind = event["type"]
        if kind.endswith("StateEntered"):
            return self._entered(event, place)
        if kind == "MapIterationStarted":
            return _Place(None, place.inside, event["mapIterationStartedEventDetails"]["index"])
        if kind.startswith("MapIteration"):
            return _Place(None, place.inside)
        if kind in ("MapStateStarted", "ParallelStateStarted"):
            return self._opened(event, place)
        if kind.startswith("MapRun"):
            self._of_map_run(event, place)
            return place
        if kind.startswith(_CONTAINERS) and kind.endswith(_CLOSE):
            return self._closed(event, place)
        return self._noted(event, place)

    def _entered(self, event: Any, place: _Place) -> _Place:
        at, details = event["timestamp"], event["stateEnteredEventDetails"]
        kind = event["type"].removesuffix("StateEntered")
        made = StateVisit(details["name"], at, at, kind=kind, first=event["id"])
        made.before, made.inside, made.iteration = place.visit, place.inside, place.iteration
        self.visits.append(made)
        return _Place(len(self.visits) - 1, place.inside, place.iteration)

    def _opened(self, event: Any, place: _Place) -> _Place:
        if place.visit is not None:
            self.visits[place.visit].length = event.get("mapStateStartedEventDetails", {}).get("length")
        return _Place(None, place.visit)

    def _closed(self, event: Any, place: _Place) -> _Place:
        """Close a place: the events of a Map or Parallel state itself follow the last one inside."""
        if place.inside is None:
            return place
        around = self.visits[place.inside]
        around.exited, around.failed = event["timestamp"], event["type"].endswith("Failed")
        return _Place(place.inside, around.inside, around.iteration)

    def _of_map_run(self, event: Any, place: _Place) -> None:
        if place.inside is None:
            return
        around, kind = self.visits[place.inside], event["type"]
        details = event.get(f"m{kind[1:]}EventDetails", {})
        around.map_run = details.get("mapRunArn", around.map_run)
        if kind == "MapRunFailed":
            fail(around, details.get("error", kind), details.get("cause", ""))

    def _noted(self, event: Any, place: _Place) -> _Place:
        at = self._of(event) if place.visit is None else place.visit
        if at is None:
            return place
        note(self.visits[at], event)
        return _Place(at, self.visits[at].inside, self.visits[at].iteration)

    def _of(self, event: Any) -> int | None:
        """Return the visit that a redrive continues: it is not entered again."""
        if event["type"].startswith("Execution"):
            return None
        return next((n for n in reversed(range(len(self.visits))) if not self.visits[n].ended), None)


def read(stack: Stack, arn: str, history: History | None = None) -> History:
    """Read the whole history of an execution, without inputs and outputs. Known events are not read again."""
    found = history or History()
    for events in _new_events(stack, arn, found.events):
        found.add(events)
    return found


def _new_events(stack: Stack, arn: str, known: int) -> Iterator[list[Any]]:
    """Yield pages of events. The newest are read from the end back, because no token leads beyond a former end."""
    pages = _pages(stack, arn, reverse=bool(known))
    if not known:
        yield from pages
        return
    newest: list[Any] = []
    for events in pages:
        newest += [event for event in events if event["id"] > known]
        if events and events[-1]["id"] <= known + 1:
            break
    yield newest[::-1]


def _pages(stack: Stack, arn: str, *, reverse: bool = False, data: bool = False) -> Iterator[list[Any]]:
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(
        executionArn=arn,
        reverseOrder=reverse,
        includeExecutionData=data,
        PaginationConfig={"PageSize": _MAX_EVENTS},
    )
    for page in pages:
        yield page["events"]


def events_of(stack: Stack, arn: str, wanted: set[int], total: int) -> list[Any]:
    """Return some events with their inputs and outputs, by id; read from the nearer end. total: how many there are."""
    reverse = bool(wanted) and min(wanted) > total / 2
    found: list[Any] = []
    for events in _pages(stack, arn, reverse=reverse, data=True) if wanted else ():
        found += [event for event in events if event["id"] in wanted]
        if len(found) == len(wanted):
            break
    return sorted(found, key=lambda event: event["id"])
