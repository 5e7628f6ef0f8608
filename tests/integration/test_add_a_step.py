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
# Contract tests that no step affects: commands, texts, suites, simulators, releases. Here they only take time.
UNCHANGED = ("connect_simulator", "frozen", "gradual", "size", "targets", "text", "words")
# A step changes no permission in other contexts; in its own, only those of functions that read its rows.
CHOSEN = (
    "(not test_permissions or Shipment or FinalizeOrder or SweepOrders) and not http_client"
    " and not test_every_documented_command and not test_no_suite_imports"
)


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the step."""
    root = guide.copy(tmp_path_factory.mktemp("guide") / "stepwise")
    *first, last = guide.edits(GUIDE)
    for edit in first:
        edit.apply(root)
    # The first deployment works too: the step runs, and decides nothing yet.
    trace = guide.run(root, "-m", "tests.faults", "ok: denied for the saga: BookShipment")
    assert "CancelShipment#1: answered" in trace
    # A part of the step that a recovery could not undo is listed, even if nothing else of the order is in effect.
    trace = guide.run(root, "-m", "tests.faults", "ok: aborted after BookShipment; denied for good: CancelShipment")
    assert "recovery.CancelShipment#22: answered" in trace
    last.apply(root)
    guide.run(root, "-m", "stepwise.local.pictures")
    return root


def test_every_block_of_the_guide_is_followed() -> None:
    assert len(list(guide.edits(GUIDE))) == guide.blocks(GUIDE)


def test_new_step_passes_the_contract_tests(followed: Path) -> None:
    # Cases of tests/mocks that pass the new state need its response; the guide leaves them to the reader.
    left_out = ["tests/machines/test_mocks.py", *(f"tests/contract/test_{name}.py" for name in UNCHANGED)]
    ignored = [f"--ignore={file}" for file in left_out]
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contract", *ignored, "-k", CHOSEN]
    assert " passed" in guide.run(followed, *command)


def test_guide_code_is_formatted_and_typed(followed: Path) -> None:
    guide.run(followed, "-m", "ruff", "format", "--check", "--no-cache", "functions")
    guide.run(followed, "-m", "ruff", "check", "--no-cache", "functions", "tests/faults", "tests/contract")
    guide.run(followed, "-m", "mypy", "functions")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_new_step_keeps_the_invariants(followed: Path, scenario: str) -> None:
    trace = guide.run(followed, "-m", "tests.faults", scenario)

    assert "BookShipment" in trace
    assert ", 0 violations" in trace
