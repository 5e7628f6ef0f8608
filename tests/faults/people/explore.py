"""Collects the coverage of application schedules, and searches for a schedule that kills a mutant."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from tests.faults.actors import totals
from tests.faults.actors.exploring import Explorer
from tests.faults.actors.mutant import Finding, found
from tests.faults.actors.totals import counted
from tests.faults.people import approval_mutants, card_mutants, mutants  # noqa: F401 - each mutant registers itself
from tests.faults.people.mutant import MUTANTS
from tests.faults.people.play import Outcome, play
from tests.faults.people.schedule import Schedule


@dataclass
class Totals(totals.Totals):
    """Sums of the fields of Outcome, over all schedules."""

    approvals: Counter[str] = field(default_factory=Counter)
    answers: Counter[str] = field(default_factory=Counter)
    cuts: Counter[tuple[str, ...]] = field(default_factory=Counter)

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        self.approvals.update(outcome.approvals)
        self.answers.update(outcome.answers)
        self.cuts.update(outcome.cuts)

    def reached(self) -> Iterable[str]:
        yield f"applications: {counted(self.ends)}; approvals: {counted(self.approvals)}"
        yield f"answers to reviewers: {counted(self.answers)}"
        yield f"branches met in {len(self.cuts)} ways when one failed"


def hunt(name: str) -> Finding:
    """Apply the mutant in this process, and play schedules until one fails."""
    return found(Schedule, name, MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))


EXPLORER = Explorer(Schedule, play, Totals, chunk=25)
