"""The guide to a new step, followed to the letter on a copy of the repository."""

import os
import subprocess
import sys
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


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that has the step."""
    root = guide.copy(tmp_path_factory.mktemp("guide") / "stepwise")
    for edit in guide.edits(GUIDE):
        edit.apply(root)
    run(root, "-m", "local.pictures")
    return root


def run(root: Path, *arguments: str) -> str:
    """Run Python in a copy; what it prints. Fails the test if it fails."""
    paths = [root, root / "functions", root / "layers" / "idempotency"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(map(str, paths)), "PYTHONDONTWRITEBYTECODE": "1"}
    ended = subprocess.run(
        [sys.executable, *arguments], cwd=root, env=environment, capture_output=True, text=True, check=False
    )
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return ended.stdout


def test_every_block_of_the_guide_is_followed() -> None:
    assert len(list(guide.edits(GUIDE))) == guide.blocks(GUIDE)


def test_the_new_step_passes_the_contract_tests(followed: Path) -> None:
    # Cases of tests/mocks that go through the new state need a response of it; the guide leaves them to the reader.
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "--ignore", "tests/machines/test_mocks.py"]
    assert " passed" in run(followed, *command, "tests/contract")


def test_the_code_of_the_guide_is_formatted_and_typed(followed: Path) -> None:
    run(
        followed, "-m", "ruff", "format", "--check", "--no-cache", "functions/ordering/shipping", "tests/faults/rows.py"
    )
    run(followed, "-m", "ruff", "check", "--no-cache", "functions", "tests/faults", "tests/contract")
    run(followed, "-m", "mypy", "--cache-dir", os.devnull, "functions")


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_the_new_step_keeps_the_invariants(followed: Path, scenario: str) -> None:
    trace = run(followed, "-m", "tests.faults", scenario)

    assert "BookShipment" in trace
    assert ", 0 violations" in trace
