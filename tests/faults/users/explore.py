"""Collects the coverage of user import schedules, and searches for a schedule that kills a mutant."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.faults.actors import totals
from tests.faults.actors.exploring import Explorer
from tests.faults.actors.mutant import Finding, found
from tests.faults.actors.totals import counted
from tests.faults.users.mutants import MUTANTS
from tests.faults.users.play import Outcome, play
from tests.faults.users.schedule import Schedule


@dataclass
class Totals(totals.Totals):
    """Sums of the fields of Outcome, over all schedules."""

    users: int = 0
    rows: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        self.users += outcome.users
        self.rows.update(outcome.rows)

    def reached(self) -> Iterable[str]:
        yield f"{self.ends.total():,} imports, {self.users:,} users created; ends: {counted(self.ends)}"
        yield f"rows: {counted(self.rows)}"


def hunt(name: str) -> Finding:
    """Apply the mutant in this process, and play schedules until one fails."""
    return found(Schedule, name, MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))


EXPLORER = Explorer(Schedule, play, Totals)
