"""One pair of faults for every two kinds; `make faults` tries many more."""

import random

from tests.faults.explore import Singles
from tests.faults.scenario import Scenario
from tests.faults.workers import Workers


def one_of_each(pairs: list[Scenario]) -> list[Scenario]:
    """Return one pair for every two kinds, the same in every run."""
    drawn = random.Random(1).sample(pairs, len(pairs))  # noqa: S311
    return list({frozenset(fault.kind for fault in pair.faults): pair for pair in drawn}.values())


def test_no_pair_of_faults_breaks_an_invariant(workers: Workers, singles: Singles) -> None:
    part = one_of_each(singles.pairs(everything=True))
    broken = [f"{result.scenario}: {violation}" for result in workers.play(part) for violation in result.violations]
    assert broken == []
    assert len(part) > 850
