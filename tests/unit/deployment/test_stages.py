"""The Region of a stage: every command uses that of samconfig.toml, as `sam deploy` does."""

import os
import subprocess
from pathlib import Path

import pytest

from stepwise.cli.options import region_of
from stepwise.deployment.preflight.target import Target
from stepwise.operations.stack import Stack, StackNotFound
from tests.kit.project import ROOT

STAGE, OTHER = "stepwise-dev", "elsewhere"
SAMCONFIG = f'[dev.global.parameters]\nstack_name = "{STAGE}"\nregion = "eu-central-1"\n'


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with a stage in Frankfurt, and settings of a caller who works in Oregon."""
    (tmp_path / "samconfig.toml").write_text(SAMCONFIG)
    (tmp_path / "config").write_text("[default]\nregion = us-west-2\n")
    monkeypatch.setattr("stepwise.deployment.stages.ROOT", tmp_path)
    monkeypatch.setenv("AWS_CONFIG_FILE", str(tmp_path / "config"))
    for name in ("AWS_REGION", "AWS_DEFAULT_REGION", "AWS_PROFILE"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.mark.parametrize(("stack", "region"), [(STAGE, "eu-central-1"), (OTHER, "us-west-2")])
def test_preflight_and_teardown_reach_the_region_of_the_stage(stack: str, region: str) -> None:
    target = Target(stack)

    assert (target.region, target.client("cloudformation").meta.region_name) == (region, region)


@pytest.mark.parametrize("given", ["", "us-east-2"])
@pytest.mark.parametrize("stack", [STAGE, OTHER])
def test_commands_reach_the_region_of_the_stage(stack: str, given: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if given:
        monkeypatch.setenv("AWS_REGION", given)
    seen = list[str | None]()
    monkeypatch.setattr(Stack, "_described", lambda session, _endpoint, _name: seen.append(session.region_name))

    Stack.on_aws(stack, region_of(stack))

    assert seen == ["eu-central-1" if stack == STAGE else given or "us-west-2"]


def test_invalid_samconfig_is_reported(project: Path) -> None:
    (project / "samconfig.toml").write_text("[dev")

    with pytest.raises(StackNotFound, match=r"^samconfig\.toml: "):
        region_of(STAGE)


@pytest.mark.parametrize(("stack", "options"), [(STAGE, "--region eu-central-1"), (OTHER, "")])
def test_role_is_created_in_the_region_of_the_stage(stack: str, options: str, project: Path) -> None:
    """Runs the recipe of `make role`, with a `sam` that prints its arguments."""
    (project / "sam").write_text('#!/bin/sh\necho "$@"\n')
    (project / "sam").chmod(0o755)
    make = ["make", "--no-print-directory", "--dry-run", "role", f"STACK={stack}"]
    recipe = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    _, start, rest = recipe.partition(f"name='{stack}'")
    path = f"{project}:{os.environ['PATH']}"
    ran = subprocess.run(
        ["bash", "-euc", start + rest],
        env={**os.environ, "PATH": path, "PYTHONPATH": str(ROOT / "src"), "STEPWISE_PROJECT": str(project)},
        capture_output=True,
        text=True,
        check=True,
    )

    assert f"--config-env default {options}".strip() + f" --stack-name deploy-{stack} " in ran.stdout
