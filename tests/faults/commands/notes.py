"""What is noted of a run, and how its faults are drawn."""

import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from tests.faults import faults as f
from tests.faults.actors.simulation import Flag, Simulation
from tests.faults.commands import schedule as s
from tests.faults.commands.engine import START, Engine, Mapping
from tests.faults.commands.judge import Judge
from tests.faults.commands.plan import KEYS, plan, skips
from tests.faults.commands.schedule import Faults, Focus, Schedule
from tests.faults.seams import Document

# What lets a successor go, or lists a dead version: a fault in it may cost the five minutes of a sweep.
_WAKING = re.compile(r"^(record|event|check_version|wait_prev|Start|Wake|CommandEnded|Retry|Skip|Sweep|stray)")


# What an actor does not have from the one that made it.
_OWN = {"visit": None, "invocation": None, "bare": False, "rebuilding": False, "fails": ""}

# They lose no message: what ends an execution is told by its event.
_TOLD = {s.SLOW, *f.STATE_KINDS, *s.MACHINE_CALL_KINDS}


@dataclass(frozen=True)
class Visit:
    """One stay in a Task state of an execution. item: the target, in the Map."""

    place: str
    execution: Document
    context: Document
    cancelled: Flag | None = None


def key_of(row: Document) -> int:
    """The number of the key of an input or a row's key."""
    return next(number for number, key in enumerate(KEYS) if row["sk"].partition("@")[0] == key.sk)


@dataclass
class Notes:
    """Of one run. sweep_faults: that hit a sweep. swept: what the last sweep answered.

    undelivered: records that were lost. projecting: records of synchronous commands on their way. events: all status
    events that were delivered.
    """

    engine: Engine
    schedule: Schedule
    focus: Focus | None = None
    simulation: Simulation = field(default_factory=Simulation)
    trace: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    undelivered: list[tuple[Mapping, Document]] = field(default_factory=list)
    projecting: int = 0
    events: list[Callable[[], object]] = field(default_factory=list)
    sweep_faults: int = 0
    swept: Document | None = None
    counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.chance = self.schedule.chance("order")
        self.later = self.schedule.chance("later")
        self.faults = Faults(self.schedule, self.focus)
        self.plan = plan(self.schedule)
        self.skips = skips(self.schedule)
        self.judges = [Judge(self, number) for number in sorted({one.key for one in self.plan})]

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
            for judge in self.concerned:
                judge.disturbed |= bool(_WAKING.match(place)) and kind not in _TOLD
            self.sweep_faults += place.startswith("Sweep")
        return kind

    def spawn(self, work: Callable[[], object], delay: float = 0, **notes: Any) -> None:
        self.simulation.spawn(work, delay, **{**_OWN, **notes})

    def late(self) -> float:
        """Seconds: usually minutes."""
        return self.later.choice((self.later.uniform(0.1, 6), self.later.uniform(6, 900)))

    @property
    def visit(self) -> Visit | None:
        current = self.simulation.current
        return current.notes.get("visit") if current else None

    @property
    def judge(self) -> Judge:
        """Of the key that the actor acts for; a sweep acts for all."""
        current = self.simulation.current
        return self.judges[current.notes.get("key") or 0 if current else 0]

    @property
    def concerned(self) -> Sequence[Judge]:
        """Those whose key may suffer from what hits the actor."""
        current = self.simulation.current
        key = current.notes.get("key") if current else None
        return self.judges if key is None else [self.judges[key]]

    def delay(self, seconds: float) -> None:
        """A fault costs this time."""
        for judge in self.concerned:
            judge.excess += seconds
        self.simulation.sleep(seconds)

    @property
    def present(self) -> datetime:
        return START + timedelta(seconds=self.simulation.now)

    @property
    def rebuilding(self) -> bool:
        """Whether it is an operator who rebuilds that acts now."""
        current = self.simulation.current
        return bool(current and current.notes.get("rebuilding"))
