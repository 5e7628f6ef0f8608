"""Each target that no other test runs, at its smallest size. The benchmarks share two local stacks."""

import os
import re
import runpy
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest

from benchmarks import results, stacks
from tests.kit.project import ROOT
from tests.kit.targets import SMALLEST, recipe

MODULE = re.compile(r"python -m (benchmarks\.\w+)\s*(.*)")


@pytest.fixture(scope="module", autouse=True)
def smallest() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, stacks.shared():
        patch.setenv("SMALLEST", "1")
        patch.setattr(results, "_SMALLEST", True)
        yield


@pytest.mark.parametrize("target", SMALLEST)
def test_target_runs(target: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for line in recipe(target, *SMALLEST[target]):
        found = MODULE.fullmatch(line.strip())
        if found and _needs_a_stack(found[1]):
            monkeypatch.setattr(sys, "argv", [found[1], *shlex.split(found[2])])
            sys.modules.pop(found[1], None)
            runpy.run_module(found[1], run_name="__main__")
        else:
            _run(line)


def _needs_a_stack(module: str) -> bool:
    spec = find_spec(module)
    assert spec is not None
    assert spec.origin is not None
    return "from .stacks import" in Path(spec.origin).read_text()


def _run(line: str) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    pythonpath = os.pathsep.join(str(ROOT / folder) for folder in ("", "functions", "layers/idempotency"))
    environment = {**os.environ, "PATH": path, "PYTHONPATH": pythonpath}
    ended = subprocess.run(["sh", "-c", line], cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout[-3000:] + ended.stderr[-3000:]
