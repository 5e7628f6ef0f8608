"""Hunts for a mutant of imports."""

from tests.faults.actors.mutant import Finding, found
from tests.faults.imports.mutants import MUTANTS
from tests.faults.imports.play import play
from tests.faults.imports.schedule import Schedule


def hunt(name: str) -> Finding:
    return found(MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))
