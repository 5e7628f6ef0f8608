"""Hunts for a mutant of commands."""

from tests.faults.actors.mutant import Finding, found
from tests.faults.commands import mutants, operation_mutants
from tests.faults.commands.mutant import MUTANTS
from tests.faults.commands.play import play
from tests.faults.commands.schedule import Schedule

__all__ = ["MUTANTS", "Finding", "hunt", "mutants", "operation_mutants"]


def hunt(name: str) -> Finding:
    """Put the mutant on in this process, and play schedules until one fails."""
    return found(MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))
