"""Each target that no other test runs, at its smallest size; test_benchmarks.py has those that share local stacks."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.kit.project import PATH, ROOT
from tests.kit.targets import commands

# Each target depends on `setup`, which has run.
COMMANDS = [
    (target, line) for target, line in dict.fromkeys(commands(on_stack=False)) if line != "requirements/setup.sh"
]


@pytest.mark.parametrize(("target", "command"), COMMANDS)
def test_command_of_target_succeeds(target: str, command: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    pythonpath = os.pathsep.join(map(str, PATH))
    # An explorer starts a process for each CPU.
    smallest = {"SMALLEST": "1", "PYTHON_CPU_COUNT": "1"}
    environment = {**os.environ, "PATH": path, "PYTHONPATH": pythonpath, **smallest}
    shell = ["sh", "-c", command]
    ended = subprocess.run(shell, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, f"{target}: {ended.stdout[-3000:]}{ended.stderr[-3000:]}"
