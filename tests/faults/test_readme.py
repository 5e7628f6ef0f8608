"""The replay in the README prints what the README shows."""

import re
import sys

import pytest

from tests.faults.__main__ import main
from tests.kit.project import ROOT

_REPLAY = re.compile(r"^make faults SCENARIO='(.+)'\n```\n\n```\n(.+?)```$", re.MULTILINE | re.DOTALL)


def test_replay_prints_what_the_readme_shows(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ((scenario, shown),) = _REPLAY.findall((ROOT / "README.md").read_text())
    monkeypatch.setattr(sys, "argv", ["faults", scenario])

    assert main() == 0
    assert capsys.readouterr().out == shown
