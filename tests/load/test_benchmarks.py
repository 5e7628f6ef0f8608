"""Each benchmark on a local stack, at its smallest size. They share a metered one."""

import runpy
import shlex
import sys
from collections.abc import Iterator

import pytest

from benchmarks import results, stacks
from tests.kit.targets import commands


@pytest.fixture(scope="module", autouse=True)
def smallest() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch, stacks.shared():
        # The first for the processes that a benchmark starts.
        patch.setenv("SMALLEST", "1")
        patch.setattr(results, "_SMALLEST", True)
        yield


@pytest.mark.parametrize(("target", "command"), commands(on_stack=True))
def test_benchmark_runs(target: str, command: str, monkeypatch: pytest.MonkeyPatch) -> None:
    _, _, module, *arguments = shlex.split(command)
    monkeypatch.setattr(sys, "argv", [target, *arguments])
    # Run as the main program, although another benchmark may have imported it.
    sys.modules.pop(module, None)
    runpy.run_module(module, run_name="__main__")
