"""Collects the coverage of webhook schedules, and searches for a schedule that kills a mutant."""

from collections.abc import Iterable
from dataclasses import dataclass

from tests.faults.actors import totals
from tests.faults.actors.exploring import Explorer
from tests.faults.actors.mutant import Finding, found
from tests.faults.actors.totals import counted
from tests.faults.webhooks.mutants import MUTANTS
from tests.faults.webhooks.play import Outcome, play
from tests.faults.webhooks.schedule import Schedule


@dataclass
class Totals(totals.Totals):
    """Sums of the fields of Outcome, over all schedules."""

    accepted: int = 0
    resent: int = 0
    disabled: int = 0
    refused: int = 0

    def add(self, outcome: Outcome) -> None:
        super().add(outcome)
        self.accepted += outcome.accepted
        self.resent += outcome.resent
        self.disabled += outcome.disabled
        self.refused += outcome.refused

    def reached(self) -> Iterable[str]:
        yield (
            f"{self.ends.total():,} ends of deliveries: {counted(self.ends)}; {self.accepted:,} messages accepted, "
            f"{self.resent:,} deliveries sent again by operators, {self.disabled:,} subscriptions disabled, "
            f"{self.refused:,} calls refused"
        )


def hunt(name: str) -> Finding:
    """Apply the mutant in this process, and play schedules until one fails."""
    return found(Schedule, name, MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))


EXPLORER = Explorer(Schedule, play, Totals, chunk=25)
