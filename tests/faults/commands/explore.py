"""Collects the coverage of command schedules, and searches for a schedule that kills a mutant."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.faults.actors import totals
from tests.faults.actors.exploring import Explorer
from tests.faults.actors.mutant import Finding, found
from tests.faults.actors.totals import counted
from tests.faults.commands import mutants, operation_mutants  # noqa: F401 - each mutant registers itself
from tests.faults.commands.mutant import MUTANTS
from tests.faults.commands.play import Outcome, play
from tests.faults.commands.schedule import Schedule


@dataclass
class Totals(totals.Totals):
    """Sums over schedules of commands.

    arrivals: orders in which the first three versions began. states: distinct ones of a key.
    two_keys: schedules with another key. skipping: schedules whose type skips dead versions.
    """

    two_keys: int = 0
    skipping: int = 0
    arrivals: Counter[tuple[int, ...]] = field(default_factory=Counter)
    states: set[str] = field(default_factory=set)

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        self.two_keys += outcome.keys > 1
        self.skipping += outcome.skips
        self.arrivals[tuple(version for version in outcome.starts if version <= 3)] += 1
        self.states |= outcome.states

    def reached(self) -> Iterable[str]:
        yield f"{self.two_keys:,} schedules with two keys, {self.skipping:,} with a type that skips"
        yield (
            f"{len(self.states):,} states of a key, {len(self.arrivals)} orders of arrival, ends: {counted(self.ends)}"
        )


def hunt(name: str) -> Finding:
    """Apply the mutant in this process, and play schedules until one fails."""
    return found(Schedule, name, MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))


EXPLORER = Explorer(Schedule, play, Totals, chunk=50)
