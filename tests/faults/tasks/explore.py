"""Collects coverage of task schedules, and searches for a schedule that kills a mutant."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.faults.actors import totals
from tests.faults.actors.exploring import Explorer
from tests.faults.actors.mutant import Finding, found
from tests.faults.actors.totals import counted
from tests.faults.tasks.mutants import MUTANTS
from tests.faults.tasks.play import Outcome, play
from tests.faults.tasks.schedule import Schedule


@dataclass
class Totals(totals.Totals):
    """Sums of the fields of Outcome, over all schedules."""

    retried: int = 0
    refused: int = 0
    alarms: int = 0
    items: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        self.retried += outcome.retried
        self.refused += outcome.refused
        self.alarms += outcome.alarms
        self.items.update(outcome.items)

    def reached(self) -> Iterable[str]:
        yield (
            f"{self.ends.total():,} attempts of tasks, {self.retried:,} of them retries, {self.alarms:,} alarms, "
            f"{self.refused:,} calls refused; ends: {counted(self.ends)}"
        )
        yield f"items: {counted(self.items)}"


def hunt(name: str) -> Finding:
    """Apply the mutant in this process, and play schedules until one fails."""
    return found(Schedule, name, MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))


EXPLORER = Explorer(Schedule, play, Totals, chunk=50)
