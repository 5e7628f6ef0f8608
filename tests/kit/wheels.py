"""Wheels of this repository in separate environments."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from tests.kit.project import ROOT

UV = shutil.which("uv") or str(ROOT / ".venv-uv" / "bin" / "uv")


def run(*command: str | Path, cwd: Path = Path("/"), **variables: str) -> str:
    """Run a program that sees neither the sources nor another environment. Returns its output. Fails if it fails."""
    done = attempt(*command, cwd=cwd, **variables)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def attempt(*command: str | Path, cwd: Path = Path("/"), **variables: str) -> subprocess.CompletedProcess[str]:
    hidden = {"PYTHONPATH", "VIRTUAL_ENV", "STEPWISE_PROJECT", "STEPWISE_PROGRAM"}
    environment = {name: value for name, value in os.environ.items() if name not in hidden}
    return subprocess.run(command, env=environment | variables, cwd=cwd, capture_output=True, text=True, check=False)


def build(project: Path, folder: Path) -> Path:
    """The wheel of a project."""
    run(UV, "build", "--quiet", "--python", sys.executable, "--wheel", "--out-dir", folder, project)
    (wheel,) = folder.glob("*.whl")
    return wheel


def install(wheel: Path, folder: Path, *options: str) -> Path:
    """The interpreter of a new environment with the wheel. options: of `uv pip install`."""
    run(UV, "venv", "--quiet", "--python", sys.executable, folder)
    python = folder / "bin" / "python"
    run(UV, "pip", "install", "--quiet", *options, "--python", python, wheel)
    return python
