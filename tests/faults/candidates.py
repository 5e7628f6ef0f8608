"""The faults that are possible in a run, from its path."""

from collections.abc import Iterator, Mapping, Sequence

from tests.faults import edge_candidates
from tests.faults import faults as f
from tests.faults.engine import RECOVERY, SAGA
from tests.faults.faults import Fault
from tests.faults.gateway import CALLS
from tests.faults.history_invariants import COMPENSATIONS
from tests.faults.notes import Point
from tests.faults.run import NEIGHBOR_PREFIX, OUTSIDE_A_MACHINE, RECOVERY_PREFIX, SECOND_PREFIX, STRAY_PREFIX
from tests.kit.machine import MACHINES, State

_NO_MATTER_OF_DYNAMODB = (
    f.DIES_BEFORE,
    f.DIES_AFTER,
    f.ANSWER_LOST,
    f.UNREACHABLE,
    f.THROTTLED,
    f.DUPLICATE_AT,
)


def faults_of(points: Sequence[Point]) -> list[Fault]:
    """Return all single faults that are possible at these points of a run, in order."""
    # Separate runs explore the faults of other orders.
    points = [point for point in points if not point.id.startswith(NEIGHBOR_PREFIX)]
    found: dict[Fault, None] = dict.fromkeys(_strays(points))
    for index, point in enumerate(points):
        for fault in _at(point, points[index + 1 :]):
            found[fault] = None
    found.update(dict.fromkeys(Fault(kind) for kind in f.EVENT_KINDS))
    return list(found)


def _at(point: Point, later: Sequence[Point]) -> Iterator[Fault]:
    match point.what:
        case "invocation" if point.id.startswith(STRAY_PREFIX):
            # Nothing waits for its response.
            return
        case "call":
            yield from _at_call(point, later)
        case "invocation":
            yield from _at_invocation(point, later)
        case "publish":
            yield Fault(f.PUBLISH_FAILS, point.id)
            yield Fault(f.PUBLISH_ALWAYS_FAILS, point.operation)
        case "state":
            yield from (Fault(kind, point.id) for kind in f.STATE_KINDS)


def _at_call(point: Point, later: Sequence[Point]) -> Iterator[Fault]:
    if point.operation in CALLS:
        yield from _at_gateway(point, later)
    for kind in _NO_MATTER_OF_DYNAMODB if point.operation in CALLS else f.CALL_KINDS:
        if kind != f.CONFLICT or point.operation == "dynamodb.TransactWriteItems":
            yield Fault(kind, point.id)
    if point.operation.startswith("dynamodb."):
        yield from _without_permission(point.id.partition(".call")[0])
    # Before its first call an invocation has done nothing, so it lands as a whole.
    if not point.id.endswith(".call1"):
        for place in _later_places(point, later):
            yield Fault(f.LATE, point.id, place)
        for place in _compensating_places(point):
            yield Fault(f.ABANDONED, point.id, place)


def _at_gateway(point: Point, later: Sequence[Point]) -> Iterator[Fault]:
    yield from (Fault(kind, point.id) for kind in f.GATEWAY_KINDS)
    for place in (*_later_places(point, later), *_compensating_places(point)):
        yield from (Fault(kind, point.id, place) for kind in f.REQUEST_LANDING_KINDS)
    function = _state(point).rpartition(".")[2]
    if function == _state(point):
        yield Fault(f.DOWN_FOR_SAGA, function)
    yield Fault(f.DOWN_FOR_GOOD, function)


def _strays(points: Sequence[Point]) -> Iterator[Fault]:
    """Yield the calls that others may make for an order charged at the gateway, at every critical moment."""
    if not any(point.operation in CALLS for point in points):
        return
    for place in (*_entries(points), f.AFTER_SAGA, f.AFTER_FINALIZATION, f.AT_LAST):
        yield Fault(f.STRAY, "ProcessRefund", place)
        yield Fault(f.SECOND, SAGA, place)
    for point in points:
        if point.what == "call" and not point.id.endswith(".call1"):
            yield Fault(f.STRAY, "ProcessRefund", f"at {point.id}")


def _entries(points: Sequence[Point]) -> Iterator[str]:
    for point in points:
        if point.what == "state" and not point.id.startswith((SECOND_PREFIX, NEIGHBOR_PREFIX)):
            yield f"before {point.id}"


def edges_of(points: Sequence[Point]) -> list[Fault]:
    """Return all single faults of `edges` that are possible at these points, and stray calls of all functions."""
    return list(dict.fromkeys(edge_candidates.faults_of(points, [*_entries(points)])))


def _at_invocation(point: Point, later: Sequence[Point]) -> Iterator[Fault]:
    yield from (Fault(kind, point.id) for kind in f.INVOCATION_KINDS if kind != f.DENIED)
    for place in _later_places(point, later):
        yield Fault(f.LATE, point.id, place)
        yield Fault(f.AGAIN, point.id, place)
    for place in _compensating_places(point):
        yield Fault(f.ABANDONED, point.id, place)


def _without_permission(invocation: str) -> Iterator[Fault]:
    state = invocation.partition("#")[0]
    function = state.rpartition(".")[2]
    yield Fault(f.DENIED, invocation)
    if state == function and state not in OUTSIDE_A_MACHINE:
        yield Fault(f.DENIED_FOR_SAGA, function)
    yield Fault(f.DENIED_FOR_GOOD, function)


def _later_places(point: Point, later: Sequence[Point]) -> Iterator[str]:
    """Yield the places where an invocation's work may land if the run continues unchanged."""
    own = _state(point)
    seen: dict[str, None] = {}
    for other in later:
        if other.what == "state" and other.id != own:
            seen[f"before {other.id}"] = None
        if other.what == "call" and not other.id.endswith(".call1") and _state(other) != own:
            seen[f"at {other.id}"] = None
    if own.rpartition(".")[2] in COMPENSATIONS:
        seen[f"at {own}#2.call2"] = None
    yield from seen
    yield from _ends(own)


def _compensating_places(point: Point) -> Iterator[str]:
    """Yield the places where it may land if the machine follows the state's Catch."""
    own = _state(point)
    if own in OUTSIDE_A_MACHINE:
        return
    prefix, _, state = own.rpartition(".")
    states = MACHINES[RECOVERY if own.startswith(RECOVERY_PREFIX) else SAGA].states
    after = _catcher(states, state)["Catch"][-1]["Next"]
    while after:
        name = f"{prefix}.{after}" if prefix else after
        if states[after]["Type"] == "Task":
            yield f"before {name}"
        if after in COMPENSATIONS:
            yield f"at {name}#1.call2"
        after = states[after].get("Next") or states[after].get("Default", "")
    yield from _ends(own)


def _catcher(states: Mapping[str, State], name: str) -> State:
    """Return the state, or the group around it."""
    groups = (state for state in states.values() for branch in state.get("Branches", []) if name in branch["States"])
    return states[name] if name in states else next(groups)


def _ends(state: str) -> Iterator[str]:
    if "." not in state and state not in OUTSIDE_A_MACHINE:
        yield f.AFTER_SAGA
    yield f.AFTER_FINALIZATION
    yield f.AT_LAST


def _state(point: Point) -> str:
    return point.id.partition("#")[0]
