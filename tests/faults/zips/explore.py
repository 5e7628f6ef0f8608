"""Collects the coverage of ZIP schedules, and searches for a schedule that kills a mutant."""

from tests.faults.actors.exploring import Explorer
from tests.faults.actors.mutant import Finding, found
from tests.faults.imports import play as imports
from tests.faults.imports.explore import Totals
from tests.faults.zips.mutants import MUTANTS
from tests.faults.zips.run import ZipRun
from tests.faults.zips.schedule import Schedule


def play(schedule: Schedule, focus: imports.Focus | None = None) -> imports.Outcome:
    """Play one schedule in this process. focus: draws faults there only."""
    return imports.play(schedule, focus, ZipRun)


def hunt(name: str) -> Finding:
    """Apply the mutant in this process, and play schedules until one fails."""
    return found(Schedule, name, MUTANTS[name], lambda seed, focus: play(Schedule(seed), focus))


EXPLORER = Explorer(Schedule, play, Totals)
