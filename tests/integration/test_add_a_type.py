"""The guide to a type and a target, followed to the letter on a copy of the repository."""

from pathlib import Path

import pytest

from tests.integration import guide
from tests.kit.project import ROOT

pytestmark = pytest.mark.local_only("are about a copy of the repository")

GUIDE = (ROOT / "docs" / "commands.md").read_text().partition("\n## Add a type and a target\n")[2]
# What these have, and need: environment variables, permissions.
FUNCTIONS = "SyncDataFunction or FinishCommandFunction or SyncTargetsFunction"


@pytest.fixture(scope="module")
def followed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that has the type and its target."""
    root = guide.copy(tmp_path_factory.mktemp("guide") / "stepwise")
    for edit in guide.edits(GUIDE):
        edit.apply(root)
    return root


def test_every_block_of_the_guide_is_followed() -> None:
    assert len(list(guide.edits(GUIDE))) == guide.blocks(GUIDE)


def test_the_new_target_passes_its_test(followed: Path) -> None:
    own = guide.run(followed, "-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/unit/entities/test_suppliers.py")

    assert "4 passed" in own


def test_the_code_of_the_guide_is_formatted_and_typed(followed: Path) -> None:
    new = ["functions/entities", "tests/unit/entities/test_suppliers.py"]
    guide.run(followed, "-m", "ruff", "format", "--check", "--no-cache", *new)
    guide.run(followed, "-m", "ruff", "check", "--no-cache", *new)
    guide.run(followed, "-m", "mypy", "functions/entities")


def test_the_functions_may_write_the_new_target(followed: Path) -> None:
    files = ["tests/contract/test_permissions.py", "tests/contract/test_functions.py"]
    run = guide.run(followed, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, "-k", FUNCTIONS)

    assert " passed" in run
