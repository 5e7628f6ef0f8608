"""`make size` counts the same things before and after files move."""

import pytest

from tests.kit import size
from tests.kit.project import ROOT
from tests.kit.size import FIELD, Tree, repeated

LINES = "".join(f"step({number})\n" for number in range(10))
TEMPLATE = f"""\
Resources:
  A: {{Type: AWS::CloudWatch::Alarm}}
  B:
    Type: AWS::CloudWatch::CompositeAlarm
    Description: {"long " * 50}
  F:
    Handler: tasks.handlers.create_task
  G: {{Handler: tasks.handlers.retry_task}}
"""
TREE = Tree(
    {
        "cli/app.py": LINES,
        "functions/tasks/state.py": f'"""What a task is."""\n{FIELD} = 1\n',
        "tests/test_app.py": f"{FIELD} = 1\n",
        "docs/decisions/README.md": "# Decisions\n",
        "docs/decisions/tasks.md": f"# Tasks\n\n## 1. {FIELD} is new\n\n## 2, 3. It counts\n",
        "docs/decisions/4.md": "# Four\n\n**What.** A file.\n",
        "template.yaml": TEMPLATE,
    }
)


def test_counts() -> None:
    counts = TREE.counts()

    assert counts["lines: tools"] == 10
    assert counts["lines: deployed Python"] == 2
    assert counts["product modules below 60 lines"] == 2
    assert counts["docstrings that begin with What, Of or Whether"] == 1
    assert (counts["handlers"], counts["handler modules"], counts["alarms"]) == (2, 1, 2)
    assert counts["longest line: template.yaml"] < 50
    assert (counts["words: all documents"], counts["decisions"]) == (19, 3)
    assert TREE.touched() == ["functions/tasks/state.py"]


def test_counts_are_the_same_after_the_move() -> None:
    moved = Tree({path.replace("cli/", "src/stepwise/cli/"): text for path, text in TREE.texts.items()})

    assert moved.counts() == TREE.counts()


IMPORTS = f"from steps import (\n{''.join(f'    step_{number},\n' for number in range(10))})\n"


@pytest.mark.parametrize(
    ("texts", "blocks"),
    [([LINES], []), ([LINES, f"import os\n\n  {LINES}"], [10, 10]), ([IMPORTS, IMPORTS], [])],
)
def test_repeated_block_counts_at_its_place(texts: list[str], blocks: list[int]) -> None:
    assert [*repeated(texts)] == blocks


@pytest.mark.slow
@pytest.mark.skipif(not (ROOT / ".git").exists(), reason="a copy without history has no commits")
def test_commit_is_a_column(capsys: pytest.CaptureFixture[str]) -> None:
    assert size.main(["HEAD"]) == 0
    assert capsys.readouterr().out.split()[:2] == ["HEAD", "now"]


def test_unknown_commit_fails() -> None:
    assert size.main(["no-such-commit"]) == 2
