"""The guide to a new step, followed to the letter in a copy of the repository."""

from pathlib import Path

import pytest

from tests.integration import guide
from tests.kit.project import ROOT

pytestmark = [pytest.mark.local_only("are about a copy of the repository"), pytest.mark.timeout(1200)]

GUIDE = (ROOT / "docs" / "add-a-step.md").read_text()
SCENARIOS = [
    "ok: no fault",
    "ok: answer lost at BookShipment#1.call1",
    "ok: denied for the saga: BookShipment",
    "ok: dies after BookShipment#1.call1; aborted after BookShipment",
]
# Contract tests of what no step changes: commands, suites, simulators, and releases by SAM. Here they only take time.
UNCHANGED = (
    "test_every_documented_command or test_no_suite_imports or test_payment_gateway or test_connect_simulator"
    " or publishes_every_function or without_the_release"
)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the step."""
    root = guide.copy(tmp_path_factory.mktemp("guide") / "stepwise")
    *first, last = guide.edits(GUIDE)
    for edit in first:
        edit.apply(root)
    # What is deployed first works too: the step runs, and decides nothing yet.
    trace = guide.run(root, "-m", "tests.faults", "ok: denied for the saga: BookShipment")
    assert "CancelShipment#1: answered" in trace
    # What a recovery could not undo of the step is listed, although nothing else of the order stands.
    trace = guide.run(root, "-m", "tests.faults", "ok: aborted after BookShipment; denied for good: CancelShipment")
    assert "recovery.CancelShipment#22: answered" in trace
    last.apply(root)
    guide.run(root, "-m", "stepwise.local.pictures")
    return root


def test_every_block_of_the_guide_is_followed() -> None:
    assert len(list(guide.edits(GUIDE))) == guide.blocks(GUIDE)


def test_new_step_passes_the_contract_tests(followed: Path) -> None:
    # Cases of tests/mocks that pass the new state need its response; the guide leaves them to the reader.
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--ignore", "tests/machines/test_mocks.py"]
    # A step changes no permission of a function of another context.
    chosen = f"(not test_permissions or Shipment or Order or Payment or Refund or Inventory) and not ({UNCHANGED})"
    assert " passed" in guide.run(followed, *command, "tests/contract", "-k", chosen)


def test_guide_code_is_formatted_and_typed(followed: Path) -> None:
    guide.run(followed, "-m", "ruff", "format", "--check", "--no-cache", "functions")
    guide.run(followed, "-m", "ruff", "check", "--no-cache", "functions", "tests/faults", "tests/contract")
    guide.run(followed, "-m", "mypy", "functions")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_new_step_keeps_the_invariants(followed: Path, scenario: str) -> None:
    trace = guide.run(followed, "-m", "tests.faults", scenario)

    assert "BookShipment" in trace
    assert ", 0 violations" in trace
