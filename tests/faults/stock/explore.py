"""Collects the coverage of hot-SKU schedules, and searches for a schedule that kills a mutant."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.faults.actors import totals
from tests.faults.actors.exploring import Explorer
from tests.faults.actors.mutant import Finding, found
from tests.faults.actors.totals import counted
from tests.faults.stock.mutants import MUTANTS
from tests.faults.stock.play import Outcome, play
from tests.faults.stock.schedule import Schedule


@dataclass
class Totals(totals.Totals):
    """Sums of the fields of Outcome, over all schedules. orders: schedules by the number of orders."""

    spread: int = 0
    conflicts: int = 0
    orders: Counter[str] = field(default_factory=Counter)
    happened: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        self.spread += outcome.spread
        self.conflicts += outcome.conflicts
        self.orders[f"with {outcome.orders} orders"] += 1
        self.happened.update(outcome.reached)

    def reached(self) -> Iterable[str]:
        yield (
            f"schedules: {counted(self.orders)}; {self.spread:,} began with a spread SKU; "
            f"{self.conflicts:,} transactions and reads lost against others"
        )
        yield f"ends: {counted(self.ends)}; {counted(self.happened)}"


def hunt(name: str) -> Finding:
    """Apply the mutant in this process, and play schedules until one fails."""
    return found(Schedule, name, MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))


EXPLORER = Explorer(Schedule, play, Totals, chunk=50)
