"""The tools' wheel, installed by pip. `make test` installs it with uv."""

import sys
from pathlib import Path

from tests.kit.project import ROOT
from tests.kit.wheels import build, run


def test_pip_installs_the_command(tmp_path: Path) -> None:
    wheel = build(ROOT, tmp_path)
    run(sys.executable, "-m", "venv", tmp_path / "venv")
    run(tmp_path / "venv" / "bin" / "pip", "install", "--quiet", wheel)

    assert "Usage: stepwise" in run(tmp_path / "venv" / "bin" / "stepwise", "--help")
