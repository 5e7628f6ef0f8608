"""Hunts for a mutant of stock."""

from tests.faults.actors.mutant import Finding, found
from tests.faults.stock.mutants import MUTANTS
from tests.faults.stock.play import play
from tests.faults.stock.schedule import Schedule

__all__ = ["MUTANTS", "Finding", "hunt"]


def hunt(name: str) -> Finding:
    """Put the mutant on in this process, and play schedules until one fails."""
    return found(MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))
