"""The state machines' definitions, checked by asl-validator, a Node.js program."""

import json
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from stepwise.deployment.preflight.resolve import Resolver
from stepwise.deployment.preflight.target import definitions
from stepwise.deployment.translation import translated
from tests.kit.project import ROOT
from tests.kit.template import TEMPLATE

PINS = ROOT / "requirements" / "asl-validator"
HOME = ROOT / ".venv-verify" / "asl-validator"

# One process installs the validator.
pytestmark = pytest.mark.xdist_group("validator")


@pytest.fixture(scope="session")
def validator(pass_over: Callable[[str, str], None]) -> Path:
    """The program, with pinned packages."""
    if not shutil.which("npm"):
        pass_over("node", "no definition was validated by asl-validator: there is no npm on PATH")
    program, lock = HOME / "node_modules" / ".bin" / "asl-validator", "package-lock.json"
    if not (program.exists() and (HOME / lock).read_bytes() == (PINS / lock).read_bytes()):
        shutil.copytree(PINS, HOME, dirs_exist_ok=True)
        command = ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"]
        made = subprocess.run(command, cwd=HOME, capture_output=True, text=True, check=False)
        if made.returncode:
            shutil.rmtree(HOME)
            pass_over("node", f"npm could not fetch asl-validator: {made.stderr.strip()}")
    return program


def validate(validator: Path, definition: Path) -> subprocess.CompletedProcess[str]:
    command = [str(validator), "--json-path", str(definition)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("region", ["us-east-1", "cn-north-1", "us-gov-west-1"])
def test_every_definition_is_valid(region: str, validator: Path, tmp_path: Path) -> None:
    resolver = Resolver.to(translated(TEMPLATE, region), region, "123456789012", "stepwise", {})
    for machine, definition in definitions(TEMPLATE, resolver, ROOT):
        file = tmp_path / f"{machine}.asl.json"
        file.write_text(definition)
        judged = validate(validator, file)

        assert judged.returncode == 0, judged.stdout + judged.stderr


def test_dead_end_state_is_found(validator: Path, tmp_path: Path) -> None:
    broken = tmp_path / "broken.asl.json"
    broken.write_text(json.dumps({"StartAt": "A", "States": {"A": {"Type": "Pass", "Next": "B"}}}))

    assert validate(validator, broken).returncode == 1
