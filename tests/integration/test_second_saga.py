"""The guide to another saga, followed to the letter in a copy; the fault explorer checks the result."""

import os
from functools import partial
from pathlib import Path

import pytest

from tests.integration import guide
from tests.kit.project import ROOT

pytestmark = pytest.mark.local_only("are about a copy of the repository")

GUIDE = (ROOT / "docs" / "second-saga.md").read_text()
explore = partial(guide.run, EXPLORE="trips", TEMPLATE="stacks/trips.yaml")


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the saga."""
    root = guide.copy(tmp_path_factory.mktemp("guide") / "stepwise")
    for edit in guide.edits(GUIDE):
        edit.apply(root)
    return root


def test_every_block_of_the_guide_is_followed() -> None:
    assert len(list(guide.edits(GUIDE))) == guide.blocks(GUIDE)


def test_guide_code_is_formatted_and_typed(followed: Path) -> None:
    new = ["functions/trips", "tests/faults/subjects"]
    guide.run(followed, "-m", "ruff", "format", "--check", "--no-cache", *new)
    guide.run(followed, "-m", "ruff", "check", "--no-cache", *new)
    guide.run(followed, "-m", "mypy", "functions")


# One fault of each kind at each state, drawn from all inputs; `make faults-second-saga` tries each with every input.
SINGLES = ["--only", "singles", *([] if "EVERY_FAULT" in os.environ else ["--each", "1"])]


@pytest.mark.timeout(900)
def test_no_single_fault_breaks_an_invariant_of_the_second_saga(followed: Path) -> None:
    report = explore(followed, "-m", "tests.faults", *SINGLES)

    assert ", 0 violations" in report


@pytest.mark.timeout(900)
def test_held_trip_resumes_from_every_step(followed: Path) -> None:
    report = explore(followed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/faults/test_forward.py")

    assert " passed" in report


def test_explorer_finds_a_branch_that_is_not_undone(followed: Path) -> None:
    definition = followed / "statemachine" / "trip-saga.asl.json"
    whole = definition.read_text()
    try:
        definition.write_text(whole.replace('"Next": "ReturnCar"', '"Next": "StayCancelled"'))
        trace = explore(followed, "-m", "tests.faults", "no hotel: no fault", fails=True)
    finally:
        definition.write_text(whole)

    assert "['RentCar'] stand" in trace


def test_group_is_undone_when_a_branch_never_started(followed: Path) -> None:
    trace = explore(followed, "-m", "tests.faults", "no hotel, car never called: no fault")

    assert "RentCar#1" not in trace
    assert "ReturnCar#1: answered" in trace
