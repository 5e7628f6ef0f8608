"""Random sequences of three to six faults, the same in every run."""

from tests.faults.explore import Singles, pools, random_runs
from tests.faults.workers import Workers

SEEDS = (1, 2)
EXAMPLES = 150


def test_no_sequence_of_faults_breaks_an_invariant(workers: Workers, singles: Singles) -> None:
    drawn_from = pools(singles)
    started = [workers.pool.submit(random_runs, seed, EXAMPLES, drawn_from) for seed in SEEDS]
    results = [result for future in started for result in future.result()]
    broken = [f"{result.scenario}: {violation}" for result in results for violation in result.violations]
    assert broken == []
    assert len(results) >= EXAMPLES * len(SEEDS)
