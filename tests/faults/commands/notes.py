"""What is noted of a run, and how its faults are drawn."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from tests.faults.commands import schedule as s
from tests.faults.commands.engine import Engine, Mapping
from tests.faults.commands.judge import Judge
from tests.faults.commands.schedule import Faults, Focus, Schedule
from tests.faults.commands.simulation import Flag, Simulation
from tests.faults.seams import Document

# What lets a successor go, or lists a dead version: a fault in it may cost the five minutes of a sweep.
_WAKING = re.compile(r"^(record|event|check_version|wait_prev|Start|Wake|CommandEnded|Retry|Skip|Sweep|stray)")


@dataclass(frozen=True)
class Visit:
    """One stay in a Task state of an execution. item: the target, in the Map."""

    place: str
    execution: Document
    context: Document
    cancelled: Flag | None = None


@dataclass
class Notes:
    """Of one run. disturbed: whether a fault may cost the five minutes of a sweep. sweep_faults: that hit a sweep.

    excess: seconds that faults cost. swept: what the last sweep answered. undelivered: records that were lost.
    """

    engine: Engine
    schedule: Schedule
    focus: Focus | None = None
    simulation: Simulation = field(default_factory=Simulation)
    trace: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    undelivered: list[tuple[Mapping, Document]] = field(default_factory=list)
    published: dict[int, int] = field(default_factory=dict)
    disturbed: bool = False
    sweep_faults: int = 0
    excess: float = 0.0
    swept: Document | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.chance = self.schedule.chance("order")
        self.later = self.schedule.chance("later")
        self.faults = Faults(self.schedule, self.focus)
        self.judge = Judge(self)

    def say(self, line: str) -> None:
        self.trace.append(f"{self.simulation.now:8.2f} {line}")

    def fault_at(self, place: str, kinds: Sequence[str], weight: float = 1) -> str:
        """The kind of fault that hits here; empty for none."""
        current = self.simulation.current
        if current is None or current.notes.get("bare"):
            return ""
        kind = self.faults.at(place, kinds, weight)
        if kind:
            self.say(f"FAULT {kind} {place}")
            self.disturbed |= bool(_WAKING.match(place)) and kind != s.SLOW
            self.sweep_faults += place.startswith("Sweep")
        return kind

    def spawn(self, work: Callable[[], object], delay: float = 0, **notes: Any) -> None:
        self.simulation.spawn(work, delay, **{"visit": None, "invocation": None, "bare": False, **notes})

    def late(self) -> float:
        """Seconds: usually minutes."""
        return self.later.choice((self.later.uniform(0.1, 6), self.later.uniform(6, 900)))

    @property
    def visit(self) -> Visit | None:
        current = self.simulation.current
        return current.notes.get("visit") if current else None

    @property
    def rebuilding(self) -> bool:
        """Whether it is an operator who rebuilds that acts now."""
        current = self.simulation.current
        return bool(current and current.notes.get("rebuilding"))
