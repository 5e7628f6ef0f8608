"""The explorer of user imports can fail: it finds each deliberately broken variant."""

from concurrent.futures import Future

import pytest

from tests.faults.actors.mutant import Finding
from tests.faults.users.explore import MUTANTS, hunt
from tests.faults.workers import Workers


@pytest.fixture(scope="module")
def findings(own_workers: Workers) -> dict[str, Future[Finding]]:
    return {name: own_workers.pool.submit(hunt, name) for name in MUTANTS}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_explorer_finds(findings: dict[str, Future[Finding]], name: str) -> None:
    finding = findings[name].result()
    assert finding.outcome is not None, f"{finding.tried} schedules broke no invariant"
    assert finding.outcome.violations[0][0] in MUTANTS[name].invariants, str(finding.outcome.violations)
