"""One deployed stack for all tests in this folder, and one copy of the repository for three of the guides."""

from pathlib import Path

import pytest

from tests.integration import guide
from tests.kit.local_stack import *  # noqa: F403 # its fixtures


@pytest.fixture(scope="session")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository that follows add-a-type.md, add-a-workflow.md and add-an-approval.md of docs."""
    root = guide.copy(tmp_path_factory.mktemp("guide") / "stepwise")
    for text in (guide.TYPE, guide.WORKFLOW, guide.APPROVAL):
        for edit in guide.edits(text):
            edit.apply(root)
    return root
