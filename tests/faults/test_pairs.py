"""A sample of all pairs of faults; `make faults` tries them all."""

import random

from tests.faults.explore import Singles
from tests.faults.workers import Workers

PART = 1200


def test_no_pair_of_faults_breaks_an_invariant(workers: Workers, singles: Singles) -> None:
    part = random.Random(1).sample(singles.pairs(everything=True), PART)  # noqa: S311
    broken = [f"{result.scenario}: {violation}" for result in workers.play(part) for violation in result.violations]
    assert broken == []
