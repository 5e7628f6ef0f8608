"""Mutants of commands, by name."""

from tests.faults import faults as f
from tests.faults.actors.mutant import Mutants

DEAD_FIRST = (r"^(set_ttl_command|transform_data)@1\.1$", (f.ABORTED_BEFORE,))
"""Focus on the states in which the first version dies."""

MUTANTS = mutant = Mutants()
