"""The local engine behaves as AWS documents; where MiniStack did not, it still does not."""

from concurrent.futures import Future
from typing import Any

import pytest

from tests.emulator import dataset_cases, execution_cases, map_run_cases, nested_cases, queue_cases
from tests.emulator.conformance import Case, Lab
from tests.kit.bounded import Threads
from tests.kit.ministack import Account

CASES = [*execution_cases.CASES, *dataset_cases.CASES, *map_run_cases.CASES, *nested_cases.CASES, *queue_cases.CASES]

pytestmark = pytest.mark.local_only("are about the local stack itself")


def observed(account: Account, cases: list[Case]) -> dict[str, "Future[Any]"]:
    """Observations of all cases. Most of them wait, so each has its own thread."""
    lab = Lab(account, account.role("conformance", may="*"))
    pool = Threads(12)
    return {case.name: pool.submit(case.observe, lab) for case in cases}


@pytest.fixture(scope="module")
def here(ours: Account) -> dict[str, "Future[Any]"]:
    return observed(ours, CASES)


@pytest.fixture(scope="module")
def there(upstream: Account) -> dict[str, "Future[Any]"]:
    return observed(upstream, LACKING)


LACKING = [case for case in CASES if case.lacking]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_local_engine_behaves_as_documented(here: dict[str, "Future[Any]"], case: Case) -> None:
    assert here[case.name].result() == case.expected, case.source


@pytest.mark.conformance
@pytest.mark.parametrize("case", LACKING, ids=lambda case: case.name)
def test_ministack_still_lacks_the_behaviour(there: dict[str, "Future[Any]"], case: Case) -> None:
    try:
        found = there[case.name].result()
    except Exception:
        return
    assert found != case.expected, f"MiniStack does this by itself now: remove it from the patches. {case.source}"
