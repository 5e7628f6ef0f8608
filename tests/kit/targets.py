"""The Makefile's targets: the tests that run them, or the reason that none does."""

import os
import re
import subprocess
from functools import cache

from tests.kit.project import ROOT

MAKEFILE = ROOT / "Makefile"
TARGETS = re.findall(r"^([a-z][a-z-]*):(?!=)", MAKEFILE.read_text(), re.MULTILINE)

_FEW = "OPTIONS=--schedules 2"
# Run by tests/load/test_targets.py and test_benchmarks.py with these variables, at their smallest size, in two minutes.
SMALLEST: dict[str, list[str]] = {
    "help": [],
    "bench": [],
    "bench-applications": [],
    "bench-commands": [],
    "bench-costs": [],
    "bench-import": [],
    "bench-imports": [],
    "bench-reports": [],
    "bench-stock": [],
    "bench-streams": [],
    "bench-tasks": [],
    "faults": ["SCENARIO=ok: answer lost at ProcessPayment#1.call1"],
    "faults-commands": [_FEW],
    "faults-imports": [_FEW],
    "faults-people": [_FEW],
    "faults-stock": [_FEW],
    "faults-tasks": [_FEW],
    "faults-users": [_FEW],
    "faults-webhooks": [_FEW],
    "faults-zips": [_FEW],
    "freeze": ["INTO=.stepwise/frozen", "PARTS=asl resources"],
    "frozen": ["AGAINST=.stepwise/frozen", "PARTS=asl resources"],
    "size": [],
}
# Targets whose recipes run test files that `make test` also runs, at a smaller size.
BY_PYTEST = {
    *("unit-only", "unit-first", "unit-second", "machines", "faults-second-saga"),
    *(
        "load-test",
        "stock-test",
        "commands-test",
        "imports-test",
        "tasks-test",
        "webhooks-test",
        "replay-test",
        "api-test",
    ),
}
# `make test` runs the commands of these in another way: by this target or test.
COVERED = {
    "setup": "test",
    "lint": "test",
    "types": "test",
    "unit": "unit-first",
    "demo": "tests/emulator/test_life_cycle.py",
    "up": "tests/emulator/test_life_cycle.py",
    "down": "tests/emulator/test_life_cycle.py",
    "api": "tests/contract/test_api.py",
    "asl": "tests/contract/test_state_machines.py",
    "pictures": "tests/contract/test_pictures.py",
    "preflight": "tests/integration/test_preflight.py",
    "role": "tests/integration/test_deployment_guide.py",
    "teardown": "tests/integration/test_failed_deployment.py",
    "corpus": "tests/unit/imports/test_corpus.py",
}
# Not in `make test`: the reason, and the job of check.yml, or the other way, that runs the target.
ELSEWHERE = {
    "check": ("its parts are in make test", "check"),
    "test": ("it runs the tests", "test"),
    "mutants": ("writes a tracked file; tests/faults search for the same mutants", "test"),
    "conformance": ("takes ten minutes", "test"),
    "test-browser": ("needs a browser", "browser"),
    "bench-console": ("needs a browser", "browser"),
    "verify": ("needs Docker, Node.js and the internet", "verify"),
    "api-fuzz": ("needs .venv-verify; make verify sends a tenth of its requests", "verify"),
    "actions": ("writes tracked files; make verify compares them", "verify"),
    "requirements": ("needs a package index and writes tracked files", "before a release, by hand"),
    "released": ("writes tracked files", "before a release, by hand"),
    "test-aws": ("needs an account", "before a release, by hand"),
    "deploy-gradual": ("needs an account", "before a release, by hand"),
    "clean": ("removes the environments that the tests run in", "by hand"),
}


def recipe(target: str, *variables: str) -> list[str]:
    """The commands that make would run. Raises AssertionError if it cannot parse the target."""
    command = ["make", "--no-print-directory", "--dry-run", target, *variables]
    # Not the flags of the make that runs the tests.
    environment = {
        name: value for name, value in os.environ.items() if name not in {"MAKEFLAGS", "MAKELEVEL", "MFLAGS"}
    }
    ended = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.replace("\\\n", " ").splitlines()


def commands(*, on_stack: bool) -> list[tuple[str, str]]:
    """(target, command) of each that runs at its smallest size. on_stack: of the benchmarks that share local stacks."""
    found = [(target, line.strip()) for target, given in SMALLEST.items() for line in recipe(target, *given)]
    return [(target, line) for target, line in found if (_program(line) in _on_stack()) is on_stack]


def _program(line: str) -> str:
    found = re.match(r"python -m benchmarks\.(\w+)", line)
    return found[1] if found else ""


@cache
def _on_stack() -> set[str]:
    return {path.stem for path in (ROOT / "benchmarks").glob("*.py") if "from .stacks import" in path.read_text()}
