"""The explorer of stock can fail: it finds each deliberately broken variant."""

from concurrent.futures import Future

import pytest

from tests.faults.stock.hunt import MUTANTS, Finding, hunt
from tests.faults.workers import Workers


@pytest.fixture(scope="module")
def findings(stock_workers: Workers) -> dict[str, Future[Finding]]:
    return {name: stock_workers.pool.submit(hunt, name) for name in MUTANTS}


@pytest.mark.parametrize("name", MUTANTS)
def test_the_explorer_finds(findings: dict[str, Future[Finding]], name: str) -> None:
    finding = findings[name].result()
    assert finding.outcome is not None, f"{finding.tried} schedules broke no invariant"
    assert finding.outcome.violations[0][0] in MUTANTS[name].invariants, str(finding.outcome.violations)
