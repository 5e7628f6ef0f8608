"""The look of each state of an execution, for the graph and its legend: a mark, a count, and the errors."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from stepwise.operations.executions import RUNNING
from stepwise.operations.state_visits import StateVisit

DONE, FAILED, RUNS, RETRIES, WAITS, STOPPED, UNTOUCHED = (
    *("done", "failed", "running", "retrying", "waiting", "stopped", "not reached"),
)
MARKS = {DONE: "✓", FAILED: "✗", RUNS: "●", RETRIES: "↻", WAITS: "…", STOPPED: "■", UNTOUCHED: ""}
KINDS = {DONE: "good", FAILED: "bad", RUNS: "busy", RETRIES: "warn", WAITS: "busy", STOPPED: "bad", UNTOUCHED: "none"}
# The look of a state with several visits: the first of these that one of its visits has.
_FIRST = (RUNS, RETRIES, WAITS, FAILED, STOPPED, DONE)

type Way = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Items:
    """Iterations of a Map, or items of a Map Run."""

    done: int = 0
    failed: int = 0
    running: int = 0
    total: int | None = None

    def __str__(self) -> str:
        words = [f"{self.done} done", f"{self.failed} failed", f"{self.running} running"]
        return " / ".join([*words, *([] if self.total is None else [f"of {self.total}"])])


@dataclass(slots=True)
class Look:
    """One state. word: as in MARKS. visits and attempts: how many. error: the last failure's error."""

    word: str = UNTOUCHED
    visits: int = 0
    attempts: int = 0
    error: str = ""
    message: str = ""
    items: Items | None = None

    @property
    def mark(self) -> str:
        return MARKS[self.word]

    @property
    def kind(self) -> str:
        return KINDS[self.word]

    @property
    def told(self) -> str:
        """Describe the look in words."""
        counts = [f"{self.visits} visits" if self.visits > 1 else "", f"{self.attempts} attempts"]
        parts = [self.word, *(counts if self.attempts > 1 or self.visits > 1 else [])]
        return ", ".join(filter(None, [*parts, str(self.items or ""), self.error]))


@dataclass(frozen=True, slots=True)
class Looks:
    """The looks of all states.

    states: by name. ways: the transitions taken, with the error that a Catch took there, if one did.
    """

    states: Mapping[str, Look]
    ways: Mapping[Way, str] = field(default_factory=dict)

    def of(self, name: str) -> Look:
        return self.states.get(name, Look())


def looks(visits: Sequence[StateVisit], status: str, runs: Mapping[str, Items] | None = None) -> Looks:
    """Compute the looks. status: the execution's status. runs: the items of Map Runs, by ARN."""
    by_name: dict[str, list[StateVisit]] = defaultdict(list)
    for visit in visits:
        by_name[visit.name].append(visit)
    items, errors = _items(visits, status), _errors_inside(visits)
    found = {name: _look(seen, status) for name, seen in by_name.items()}
    for number, visit in enumerate(visits):
        if visit.kind in ("Map", "Parallel"):
            _add_inner(
                found[visit.name], visit, (runs or {}).get(visit.map_run) or items.get(number), errors.get(number)
            )
    return Looks(found, dict(_ways(visits, errors)))


def word(visit: StateVisit, status: str) -> str:
    """Return the word for one visit. status: the execution's status."""
    if visit.kind == "Fail":
        return FAILED
    if visit.ended or visit.kind == "Succeed":
        return FAILED if visit.failed else DONE
    if status != RUNNING:
        return FAILED if visit.failed else STOPPED
    if visit.failed:
        return RETRIES
    return WAITS if visit.waits or visit.kind == "Wait" else RUNS


def _look(seen: Sequence[StateVisit], status: str) -> Look:
    words = {word(visit, status) for visit in seen}
    last = next((visit for visit in reversed(seen) if visit.errors), None)
    return Look(
        next(one for one in _FIRST if one in words),
        len(seen),
        sum(visit.attempts for visit in seen),
        last.errors[-1] if last else "",
        last.message if last else "",
    )


def _add_inner(look: Look, visit: StateVisit, items: Items | None, error: str | None) -> None:
    if visit.kind == "Map" and items:
        look.items = items
    if visit.failed and error and not look.error:
        look.error = error


def _items(visits: Sequence[StateVisit], status: str) -> dict[int, Items]:
    """Return the iterations of each Map state, by visit number. An iteration with a caught error counts as failed."""
    words: dict[int, dict[int, set[str]]] = defaultdict(lambda: defaultdict(set))
    for visit in visits:
        if visit.inside is not None and visit.iteration is not None:
            words[visit.inside][visit.iteration].add(word(visit, status))
    return {number: _counted(seen.values(), visits[number].length) for number, seen in words.items()}


def _counted(iterations: Iterable[set[str]], total: int | None) -> Items:
    counts = Counter(_of_iteration(words) for words in iterations)
    return Items(counts[DONE], counts[FAILED], counts[RUNS], total)


def _of_iteration(words: set[str]) -> str:
    if words & {RUNS, RETRIES, WAITS}:
        return RUNS
    return FAILED if words & {FAILED, STOPPED} else DONE


def _errors_inside(visits: Sequence[StateVisit]) -> dict[int, str]:
    """Return the last error inside each Map or Parallel state that failed, by visit number."""
    found: dict[int, str] = {}
    for visit in visits:
        if visit.inside is not None and visit.errors:
            found[visit.inside] = visit.errors[-1]
    return found


def _ways(visits: Sequence[StateVisit], errors: Mapping[int, str]) -> Iterable[tuple[Way, str]]:
    for visit in visits:
        if visit.before is not None:
            source = visits[visit.before]
            error = (source.errors[-1] if source.errors else errors.get(visit.before, "")) if source.failed else ""
            yield (source.name, visit.name), error
