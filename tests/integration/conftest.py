"""One deployed stack for all tests in this folder, and one copy of the repository for three of the guides."""

from pathlib import Path

import pytest

from tests.integration import guide
from tests.kit.deployed import STACK, local_reason
from tests.kit.local_stack import *  # noqa: F403 # its fixtures

# Tests that test_deployed.py skips: they take most of the time, and create the same things as others.
LEFT_OUT = ("test_bad_input", "test_command_line", "test_concurrent_imports", "test_day_is_replayed")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Skip the tests that test_deployed.py runs on a stack in use, if it is in the run."""
    if STACK in config.stash or all(item.path.name != "test_deployed.py" for item in items):
        return
    config.hook.pytest_deselected(items=[item for item in items if _runs_on_a_stack_in_use(item)])
    items[:] = [item for item in items if not _runs_on_a_stack_in_use(item)]


def _runs_on_a_stack_in_use(item: pytest.Item) -> bool:
    return (
        item.path.parent == Path(__file__).parent
        and not local_reason(item)
        and not any(name in item.nodeid for name in LEFT_OUT)
    )


@pytest.fixture(scope="session")
def extended(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the repository with the changes of add-a-type.md, add-a-workflow.md and add-an-approval.md."""
    root = guide.copy(tmp_path_factory.mktemp("guide") / "stepwise")
    for text in (guide.TYPE, guide.WORKFLOW, guide.APPROVAL):
        for edit in guide.edits(text):
            edit.apply(root)
    return root
