"""Timeline of an execution: when each state ran, on an axis with folded idle stretches.

Idle is when nothing works: a Wait state, a task that waits for its callback, the pause before a retry.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby

from stepwise.operations.executions import RUNNING
from stepwise.operations.state_visits import Attempt, StateVisit

from .axis import WIDTH, Axis, Fold, Span, axis
from .looks import KINDS, MARKS, word

# A callback's function has done its work by then.
_SENT = timedelta(seconds=1)
_MIN_BAR = 3.0
_MAX_ROWS, _MAX_FOLDS = 60, 12


@dataclass(frozen=True, slots=True)
class Bar:
    x: float
    width: float
    kind: str


@dataclass(frozen=True, slots=True)
class Row:
    """One visit, or all visits of a state inside a Map. depth: how many states are around it. what: in words."""

    name: str
    depth: int
    mark: str
    kind: str
    begin: datetime
    length: timedelta
    bars: tuple[Bar, ...]
    what: str


@dataclass(frozen=True, slots=True)
class Timeline:
    """A timeline. left_out: how many rows in the middle are not shown."""

    axis: Axis
    rows: tuple[Row, ...]
    left_out: int = 0

    @property
    def shown_folds(self) -> tuple[Fold, ...]:
        """The folds, unless they are too many to be told apart."""
        return self.axis.folds if len(self.axis.folds) <= _MAX_FOLDS else ()


def timeline(visits: Sequence[StateVisit], status: str, begin: datetime, end: datetime) -> Timeline:
    """Build the timeline. begin and end: those of the execution; a running one ends now."""
    scale = axis(list(_busy(visits, status, end)), begin, end)
    groups = list(_groups(visits))
    shown = groups if len(groups) <= _MAX_ROWS else groups[: _MAX_ROWS // 2] + groups[-_MAX_ROWS // 2 :]
    rows = tuple(_row(visits, seen, status, scale, end) for seen in shown)
    return Timeline(scale, rows, len(groups) - len(shown))


def _busy(visits: Iterable[StateVisit], status: str, end: datetime) -> Iterator[Span]:
    for visit in visits:
        for attempt in visit.tries:
            until = _until(visit, attempt, status, end)
            yield attempt.began, min(until, attempt.began + _SENT) if visit.waits else until
        if visit.map_run:
            yield visit.entered, visit.exited if visit.ended or status != RUNNING else end


def _until(visit: StateVisit, attempt: Attempt, status: str, end: datetime) -> datetime:
    """Return when an attempt ended; an attempt that the end of the execution cut short ends with it."""
    if attempt.ended:
        return attempt.ended
    return end if status == RUNNING or not visit.ended else visit.exited


def _groups(visits: Sequence[StateVisit]) -> Iterator[list[StateVisit]]:
    """Group visits by row: each has its own, except that visits inside a Map share one row per state."""
    inside: dict[tuple[int, str], list[StateVisit]] = {}
    rows: list[list[StateVisit]] = []
    for visit in visits:
        around = _map_around(visits, visit)
        if around is None:
            rows.append([visit])
        elif (around, visit.name) in inside:
            inside[around, visit.name].append(visit)
        else:
            inside[around, visit.name] = [visit]
            rows.append(inside[around, visit.name])
    yield from rows


def _map_around(visits: Sequence[StateVisit], visit: StateVisit) -> int | None:
    around = visit.inside
    while around is not None and visits[around].kind != "Map":
        around = visits[around].inside
    return around


def _row(visits: Sequence[StateVisit], seen: Sequence[StateVisit], status: str, scale: Axis, end: datetime) -> Row:
    words = [word(visit, status) for visit in seen]
    ends = [visit.exited if visit.ended or status != RUNNING else end for visit in seen]
    last = words[-1]
    first, until = min(visit.entered for visit in seen), max(ends)
    counts = ", ".join(f"{len(list(group))} {name}" for name, group in groupby(sorted(words)))
    errors = [visit.cause.name for visit in seen if visit.cause]
    what = counts if len(seen) > 1 else ", ".join([last, *errors])
    return Row(
        seen[0].name,
        _depth(visits, seen[0]),
        MARKS[last],
        KINDS[last],
        first,
        until - first,
        tuple(_bars(seen, words, ends, scale)),
        what,
    )


def _depth(visits: Sequence[StateVisit], visit: StateVisit) -> int:
    depth, around = 0, visit.inside
    while around is not None:
        depth, around = depth + 1, visits[around].inside
    return depth


def _bars(seen: Sequence[StateVisit], words: Sequence[str], ends: Sequence[datetime], scale: Axis) -> Iterator[Bar]:
    """Yield the bars: the visits' time and, on it, each attempt."""
    if len(seen) > 1:
        spans = _merged(sorted((visit.entered, end) for visit, end in zip(seen, ends, strict=True)))
        yield from (_bar(left, right, scale, "good" if set(words) == {"done"} else "warn") for left, right in spans)
        return
    visit, until = seen[0], ends[0]
    yield _bar(visit.entered, until, scale, "faint" if visit.tries else KINDS[words[0]])
    for attempt in visit.tries:
        kind = "bad" if attempt.error else "good" if attempt.ended else KINDS[words[0]]
        yield _bar(attempt.began, attempt.ended or until, scale, kind)


def _merged(spans: Sequence[Span]) -> list[Span]:
    """Merge overlapping spans."""
    found: list[Span] = []
    for left, right in spans:
        if found and left <= found[-1][1]:
            found[-1] = (found[-1][0], max(found[-1][1], right))
        else:
            found.append((left, right))
    return found


def _bar(left: datetime, right: datetime, scale: Axis, kind: str) -> Bar:
    x = scale.x(left)
    width = max(scale.x(right) - x, _MIN_BAR)
    return Bar(min(x, WIDTH - width), width, kind)
