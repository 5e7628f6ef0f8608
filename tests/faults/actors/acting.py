"""Actors exposed to faults: the notes of a run, and how its faults are drawn."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.faults.actors.schedule import THROTTLED_FOR, Faults, Focus, Schedule
from tests.faults.actors.simulation import Actor, Flag, Simulation
from tests.faults.invocation import Invocation
from tests.faults.seams import Document

# Notes that an actor does not inherit from its parent.
_OWN = {"visit": None, "invocation": None, "bare": False, "rebuilding": False, "fails": "", "branch": None, "pace": 0}


@dataclass(frozen=True)
class Visit:
    """One stay in a Task state of an execution. item: the target, in the Map."""

    place: str
    execution: Document
    context: Document
    cancelled: Flag | None = None


@dataclass(kw_only=True)
class Acting:
    """The notes of one run."""

    schedule: Schedule
    focus: Focus | None = None
    simulation: Simulation = field(default_factory=Simulation)
    trace: list[str] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)
    # Time until which Lambda throttles every invocation; invocations left until throttling starts, and its duration.
    throttled_until: float = 0
    _throttling: tuple[int, float] = (0, 0)

    def __post_init__(self) -> None:
        self.chance = self.schedule.chance("order")
        self.later = self.schedule.chance("later")
        self.faults = Faults(self.schedule, self.focus)

    @property
    def disturbed(self) -> bool:
        """True if any fault has hit so far."""
        return bool(self.faults.injected)

    @property
    def only_throttled(self) -> bool:
        """True if throttling of the account is the only fault so far."""
        return {fault.kind for fault in self.faults.injected} <= {THROTTLED_FOR}

    def may_throttle(self, longest: float) -> None:
        """In some runs, throttle the account from a random invocation on, for up to this many seconds."""
        chance = self.schedule.chance("throttled")
        if self.faults.throttled("account", chance):
            seconds = chance.choice((chance.uniform(30, 300), chance.uniform(300, longest)))
            self._throttling = chance.randint(1, 8), seconds

    def is_throttled(self) -> bool:
        """Check whether Lambda throttles the next invocation."""
        if self.simulation.now < self.throttled_until:
            return True
        left, seconds = self._throttling
        self._throttling = left - 1, seconds
        if left == 1:
            self.throttles(seconds)
        return False

    def injected(self, kind: str, place: str) -> None:
        """Note that a fault hits."""

    def throttles(self, seconds: float) -> None:
        """Throttle every invocation for this time."""
        self.throttled_until = self.simulation.now + seconds
        self.say(f"FAULT {THROTTLED_FOR} account, {seconds:.0f} s")

    def costs(self, seconds: float) -> None:
        """Note the time that a fault costs."""

    def say(self, line: str) -> None:
        self.trace.append(f"{self.simulation.now:8.2f} {line}")

    def fault_at(self, place: str, kinds: Sequence[str], weight: float = 1) -> str:
        """Return the kind of fault that hits here; empty for none."""
        current = self.simulation.current
        if current is None or current.notes.get("bare"):
            return ""
        kind = self.faults.at(place, kinds, weight)
        if kind:
            self.say(f"FAULT {kind} {place}")
            self.injected(kind, place)
        return kind

    def spawn(self, work: Callable[[], object], delay: float = 0, **notes: Any) -> Actor:
        return self.simulation.spawn(work, delay, **{**_OWN, **notes})

    def late(self) -> float:
        """Draw a delay in seconds: usually minutes."""
        return self.later.choice((self.later.uniform(0.1, 6), self.later.uniform(6, 900)))

    def delay(self, seconds: float) -> None:
        """Let this time pass, as the cost of a fault."""
        self.costs(seconds)
        self.simulation.sleep(seconds)

    @property
    def invocation(self) -> Invocation | None:
        current = self.simulation.current
        return current.notes.get("invocation") if current else None

    @property
    def visit(self) -> Visit | None:
        current = self.simulation.current
        return current.notes.get("visit") if current else None
