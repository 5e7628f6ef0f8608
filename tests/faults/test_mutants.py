"""The explorer can fail: it finds each mutant, a deliberately broken variant of the code."""

from concurrent.futures import Future

import pytest

from tests.faults.hunt import Finding, hunt
from tests.faults.mutant import MUTANTS
from tests.faults.workers import Workers


@pytest.fixture(scope="module")
def findings(workers: Workers) -> dict[str, Future[Finding]]:
    return {name: workers.pool.submit(hunt, name) for name in MUTANTS}


@pytest.mark.parametrize("name", MUTANTS)
def test_explorer_finds_mutant(findings: dict[str, Future[Finding]], name: str) -> None:
    finding = findings[name].result()
    assert finding.result is not None, f"{finding.tried} runs broke no invariant"
    assert finding.result.violations[0].invariant in MUTANTS[name].invariants, str(finding.result.violations)
