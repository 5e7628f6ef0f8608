"""The faults of `edges` that are possible in a run, from its path and its records along the path."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import combinations

from tests.faults import edges as e
from tests.faults import faults as f
from tests.faults.engine import RECOVERY, SAGA
from tests.faults.faults import Fault
from tests.faults.gateway import CALLS
from tests.faults.notes import Point
from tests.faults.rows import RECORDS
from tests.faults.subject import SUBJECT
from tests.kit.machine import MACHINES
from tests.kit.template import FUNCTIONS, arn_of

_SAGA_FUNCTIONS = sorted(
    name.removesuffix("Function")
    for name in {str(arn_of(value)) for value in MACHINES[SAGA].substitutions.values()} & set(FUNCTIONS)
)
_CALLS = (f.STRAY, e.STRAY_TWICE, e.FOREIGN, e.FOREIGN_TWICE)
_EXECUTIONS = (f.SECOND, e.FOREIGN_EXECUTION, e.NEIGHBOR)

type _Records = dict[str, tuple[str, bool]]


def faults_of(points: Sequence[Point], entries: Sequence[str]) -> Iterator[Fault]:
    """Yield the faults, in no relevant order. entries: the places at which a state is entered."""
    by_gateway = any(point.operation in CALLS for point in points)
    at_rest = [*entries, f.AFTER_SAGA, f.AFTER_FINALIZATION, f.AT_LAST]
    between = [f"at {point.id}" for point in points if point.what == "call" and _is_between(point)]
    for place in (*at_rest, *between):
        yield from (Fault(kind, function, place) for kind in _CALLS for function in _SAGA_FUNCTIONS)
        yield from (Fault(kind, SAGA, place) for kind in _EXECUTIONS)
    for place in at_rest:
        commands = e.COMMANDS if by_gateway else [name for name in e.COMMANDS if name not in e.WORK_COMMANDS]
        yield from (Fault(e.OPERATOR, command, place) for command in commands)
        if by_gateway:
            yield Fault(e.FORGETS, "", place)
    yield from _of_records(points)
    if SUBJECT.audit:
        yield from _of_rows([point for point in points if point.what == "rest"])
    yield Fault(e.EXPIRED_EVENT, SAGA)
    if any(point.operation == RECOVERY for point in points):
        yield Fault(e.EXPIRED_EVENT, RECOVERY)
        yield Fault(e.RECOVERY_EVENT_LOST)


def _is_between(point: Point) -> bool:
    """True for a later call of an invocation by the order's own saga or recovery."""
    return not point.id.endswith(".call1") and not point.id.startswith(("second.", "neighbor.", "stray."))


def _of_records(points: Sequence[Point]) -> Iterator[Fault]:
    seen: dict[str, _Records] = {
        point.id: {name: (status, expires) for name, status, expires in point.records}
        for point in points
        if point.what == "rest"
    }
    for index, (place, records) in enumerate(seen.items()):
        expiring = [name for name, (_, expires) in records.items() if expires]
        for names in _subsets(expiring):
            yield Fault(e.EXPIRE, "+".join(names), place)
            yield Fault(e.DELETED, "+".join(names), place)
        yield from _restored(place, records, list(seen.items())[:index])
    last = seen.get(f.AT_LAST, {})
    expiring = [name for name, (_, expires) in last.items() if expires]
    for names in ((), *_subsets(expiring)):
        at = "+".join(names) or e.NOTHING
        yield from (Fault(kind, at) for kind in (e.BROKEN, e.PLACED_AGAIN, e.REUSED))


def _restored(place: str, records: _Records, earlier: Sequence[tuple[str, _Records]]) -> Iterator[Fault]:
    """Yield each subset of the records, in each earlier state, once."""
    tried: set[tuple[tuple[str, str | None], ...]] = set()
    for moment, backup in earlier:
        changed = [name for name in RECORDS if backup.get(name) != records.get(name)]
        for names in _subsets(changed):
            outcome = tuple((name, backup[name][0] if name in backup else None) for name in names)
            if outcome not in tried:
                tried.add(outcome)
                yield Fault(e.RESTORED, f"{'+'.join(names)}@{e.moment_name(moment)}", place)


def _of_rows(rests: Sequence[Point]) -> Iterator[Fault]:
    """Yield each row lost at each place, and put back as it was before each change."""
    for index, point in enumerate(rests):
        for step, status in point.rows:
            yield Fault(e.ROW_LOST, step, point.id)
            earlier = {dict(other.rows).get(step): other.id for other in reversed(rests[:index])}
            for before in earlier.keys() - {status, None}:
                yield Fault(e.ROW_BACK, f"{step}@{e.moment_name(earlier[before])}", point.id)


def _subsets(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Yield all subsets except the empty one."""
    known = sorted(names)
    for size in range(1, len(known) + 1):
        yield from combinations(known, size)
