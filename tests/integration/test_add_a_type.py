"""The guides to a type with its target, and to a workflow, followed to the letter in one copy of the repository."""

from pathlib import Path

import pytest

from tests.integration import guide

pytestmark = pytest.mark.local_only("are about a copy of the repository")

# Functions with new environment variables and permissions.
OF_TYPE = " or ".join(
    f"{name}Function" for name in ("SyncData", "FinishCommand", "SyncTargets", "RunTaskItem", "TaskAction")
)
# Also the rules for states, machines, tables, alarms and events.
OF_WORKFLOW = "reconcil or states_and_handlers_of_shared or state_handler_gets"


@pytest.mark.parametrize("text", [guide.TYPE, guide.WORKFLOW], ids=["type", "workflow"])
def test_every_block_of_the_guide_is_followed(text: str) -> None:
    assert len(list(guide.edits(text))) == guide.blocks(text) > 5


def test_code_added_by_the_guides_passes_its_tests(extended: Path) -> None:
    files = ["tests/unit/entities/test_suppliers.py", "tests/unit/reconciliation"]
    own = guide.run(extended, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files)

    assert "8 passed" in own


def test_guide_code_is_formatted_and_typed(extended: Path) -> None:
    packages = ["functions/entities", "functions/reconciliation"]
    new = [*packages, "tests/unit/entities/test_suppliers.py", "tests/unit/reconciliation"]
    guide.run(extended, "-m", "ruff", "format", "--check", "--no-cache", *new)
    guide.run(extended, "-m", "ruff", "check", "--no-cache", *new)
    guide.run(extended, "-m", "mypy", *packages)


def test_code_added_by_the_guides_passes_its_contract_tests(extended: Path) -> None:
    names = ("permissions", "functions", "state_machines", "resources", "operations", "handlers", "events")
    files = [f"tests/contract/test_{name}.py" for name in names]
    chosen = ["-k", f"{OF_TYPE} or {OF_WORKFLOW}"]
    run = guide.run(extended, "-m", "pytest", "-q", "-p", "no:cacheprovider", *files, *chosen)

    assert " passed" in run


def test_state_without_a_handler_fails_a_contract_test(extended: Path) -> None:
    handlers = extended / "functions" / "reconciliation" / "handlers.py"
    whole = handlers.read_text()
    command = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "tests/contract/test_state_machines.py"]
    try:
        handlers.write_text(whole.replace("@STATES.handler(Page)\n", ""))
        report = guide.run(extended, *command, "-k", "states_and_handlers_of_shared", fails=True)
    finally:
        handlers.write_text(whole)

    assert "compare_orders" in report
