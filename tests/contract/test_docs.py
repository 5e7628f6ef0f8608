"""The documents lag behind nothing that can be checked."""

import re
import tomllib

import pytest

from tests.contract.machine import MACHINES
from tests.contract.project import ROOT, exceptions
from tests.contract.template import FUNCTIONS

README = (ROOT / "README.md").read_text()
ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
# Each machine is described in one of these.
MACHINE_DOCS = ARCHITECTURE + (ROOT / "docs" / "user-import.md").read_text()
IDEMPOTENCY = (ROOT / "docs" / "idempotency.md").read_text()
MAKEFILE = (ROOT / "Makefile").read_text()


@pytest.mark.parametrize("function", FUNCTIONS)
def test_the_readme_has_a_row_for_every_function(function: str) -> None:
    assert f"| `{function}` |" in README


@pytest.mark.parametrize("machine", MACHINES)
def test_the_readme_names_every_state_machine(machine: str) -> None:
    assert MACHINES[machine].path.name in README


@pytest.mark.parametrize("state", sorted({state for machine in MACHINES.values() for state in machine.states}))
def test_the_docs_name_every_state(state: str) -> None:
    assert state in MACHINE_DOCS or state.replace(":", "_") in MACHINE_DOCS


def test_every_error_of_the_layer_is_explained() -> None:
    ours = {name for name, cls in exceptions().items() if cls.__module__.startswith("idempotency")}
    errors = {name for name in ours if not exceptions()[name].__subclasses__()}
    assert {error for error in errors if f"| `{error}` |" not in IDEMPOTENCY} == set()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"`make ([a-z]+)`", README))))
def test_every_make_target_of_the_readme_is_there(target: str) -> None:
    assert re.search(rf"^{target}:.*## ", MAKEFILE, re.MULTILINE)


@pytest.mark.parametrize("path", sorted(set(re.findall(r"\]\(([a-z][^):#]+)\)", README))))
def test_every_file_that_the_readme_links_is_there(path: str) -> None:
    assert (ROOT / path).exists()


def test_ci_runs_the_test_command_of_the_readme() -> None:
    assert "make test" in (ROOT / ".ci" / "run").read_text()


def test_the_supported_python_is_the_runtime() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert project["requires-python"].startswith(">=3.13")
