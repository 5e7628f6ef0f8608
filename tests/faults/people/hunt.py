"""Hunts for a mutant of approvals and account opening."""

from tests.faults.actors.mutant import Finding, found
from tests.faults.people import approval_mutants, card_mutants, mutants
from tests.faults.people.mutant import MUTANTS
from tests.faults.people.play import play
from tests.faults.people.schedule import Schedule

__all__ = ["MUTANTS", "Finding", "approval_mutants", "card_mutants", "hunt", "mutants"]


def hunt(name: str) -> Finding:
    """Put the mutant on in this process, and play schedules until one fails."""
    return found(MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))
