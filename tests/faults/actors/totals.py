"""Results of schedules, and their sums."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, fields
from typing import Any

from tests.faults.actors.schedule import Schedule

_COUNTED = ("outcomes", "calls", "hits", "stops", "ends")


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """Result of a schedule.

    violations: invariant and detail. injected: the faults. trace: what happened. seconds: duration in virtual time.
    hits: faults at calls, by function, operation and kind. stops: ends from outside, by state and kind. ends: how many
    ended in which way.
    """

    violations: tuple[tuple[str, str], ...]
    injected: Schedule
    trace: tuple[str, ...] = ()
    seconds: float = 0
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    hits: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stops: Counter[tuple[str, str]] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)


@dataclass
class Totals:
    """Sums of the fields of Outcome, over all schedules. schedules_with, violations: by kind of fault.

    hours: total virtual time.
    """

    schedules: int = 0
    clean: int = 0
    hours: float = 0
    faults: Counter[str] = field(default_factory=Counter)
    schedules_with: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    hits: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stops: Counter[tuple[str, str]] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)

    def add(self, outcome: Any) -> None:
        """Count one schedule."""
        faults = outcome.injected.faults or ()
        kinds = {fault.kind for fault in faults}
        self.schedules += 1
        self.clean += not faults
        self.hours += outcome.seconds / 3600
        self.faults.update(fault.kind for fault in faults)
        self.schedules_with.update(kinds)
        for name in _COUNTED:
            getattr(self, name).update(getattr(outcome, name))
        if outcome.violations:
            self.violations.update(kinds)
            self.failed.append((str(outcome.injected), outcome.violations))

    def merge(self, other: "Totals") -> None:
        """Count what another process has counted."""
        for one in fields(self):
            mine, others = getattr(self, one.name), getattr(other, one.name)
            if isinstance(mine, Counter | set):
                mine.update(others)
            else:
                setattr(self, one.name, mine + others)

    def reached(self) -> Iterable[str]:
        """Yield the lines of the report that only these schedules have."""
        return ()


def counted(counts: Counter[str]) -> str:
    """Format counts for a line."""
    return ", ".join(f"{count:,} {name}" for name, count in counts.most_common())
