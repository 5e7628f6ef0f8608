"""Hunts for a mutant of commands."""

from dataclasses import dataclass

from tests.faults.commands import mutants, operation_mutants
from tests.faults.commands.mutant import MUTANTS
from tests.faults.commands.play import Outcome, play
from tests.faults.commands.schedule import Schedule

__all__ = ["MUTANTS", "Finding", "hunt", "mutants", "operation_mutants"]

_SCHEDULES = 100


@dataclass(frozen=True, slots=True)
class Finding:
    """outcome: the first that broke an invariant, if any; tried: how many schedules it took."""

    outcome: Outcome | None
    tried: int


def hunt(name: str) -> Finding:
    """Put the mutant on in this process, and play schedules until one fails."""
    found = MUTANTS[name]
    with found.patch():
        for seed in range(1, _SCHEDULES + 1):
            outcome = play(Schedule(seed), found.focus)
            if outcome.violations:
                return Finding(outcome, seed)
    return Finding(None, _SCHEDULES)
