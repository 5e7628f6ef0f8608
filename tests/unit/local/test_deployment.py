"""Changes that the local stack makes to a build to speed up `sam deploy`, and the reason for a failed build."""

import json
import subprocess
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import pytest
import yaml

from stepwise.local.deployment import PACKED, packed
from tests.kit.project import ROOT


def _function(uri: str) -> dict[str, Any]:
    return {"Type": "AWS::Serverless::Function", "Properties": {"CodeUri": uri, "Handler": "handlers.handler"}}


@pytest.fixture
def built(tmp_path: Path) -> Path:
    """Two nested stacks; each function has its own folder, and A and C have the same content."""
    for folder, content in {"One/A": "same", "One/B": "other", "Two/C": "same"}.items():
        (tmp_path / folder / "__pycache__").mkdir(parents=True)
        (tmp_path / folder / "handlers.py").write_text(content)
        (tmp_path / folder / "__pycache__" / "handlers.pyc").write_text(f"bytecode of {content}")
    stacks = {"One": {"A": _function("A"), "B": _function("B")}, "Two": {"C": _function("C")}}
    for stack, resources in stacks.items():
        (tmp_path / stack / "template.yaml").write_text(yaml.safe_dump({"Resources": resources}))
    nested = {
        stack: {"Type": "AWS::Serverless::Application", "Properties": {"Location": f"{stack}/template.yaml"}}
        for stack in stacks
    }
    (tmp_path / "template.yaml").write_text(yaml.safe_dump({"Resources": nested}))
    packed(tmp_path)
    return tmp_path


def read(file: Path) -> Any:
    return json.loads(file.read_text())["Resources"]


def test_functions_with_the_same_content_share_one_archive(built: Path) -> None:
    archives = {
        name: (built / stack / body["Properties"]["CodeUri"]).resolve()
        for stack in ("One", "Two")
        for name, body in read(built / stack / PACKED).items()
    }

    assert archives["A"] == archives["C"] != archives["B"]
    assert sorted(built.glob("*.zip")) == sorted(set(archives.values()))
    with ZipFile(archives["B"]) as archive:
        assert {name: archive.read(name) for name in archive.namelist()} == {
            "handlers.py": b"other",
            "__pycache__/handlers.pyc": b"bytecode of other",
        }


def test_archive_is_the_same_in_every_build(built: Path) -> None:
    before = {archive: archive.read_bytes() for archive in built.glob("*.zip")}
    for archive in before:
        archive.unlink()
    packed(built)

    assert {archive: archive.read_bytes() for archive in built.glob("*.zip")} == before


def test_everything_else_stays_as_built(built: Path) -> None:
    for stack in ("One", "Two"):
        resources = yaml.safe_load((built / stack / "template.yaml").read_text())["Resources"]
        for name, body in read(built / stack / PACKED).items():
            resources[name]["Properties"]["CodeUri"] = body["Properties"]["CodeUri"]
        assert read(built / stack / PACKED) == resources
    assert [body["Properties"]["Location"] for body in read(built / PACKED).values()] == [
        f"One/{PACKED}",
        f"Two/{PACKED}",
    ]


@pytest.mark.parametrize(
    ("folder", "target"),
    [
        ("functions", "build-RunJobFunction"),
        ("layers/dependencies", "build-DependenciesLayer"),
        ("layers/idempotency", "build-IdempotencyLayer"),
    ],
)
def test_every_build_says_why_the_shared_one_failed(folder: str, target: str, tmp_path: Path) -> None:
    (tmp_path / "python3.13").write_text("#!/bin/sh\necho there is no network >&2\nexit 1\n")
    (tmp_path / "python3.13").chmod(0o755)
    environment = {"PATH": f"{tmp_path}:/usr/bin:/bin"}
    for stack in ("Jobs", "Ordering"):
        artifacts = tmp_path / "build" / stack / "made"
        artifacts.mkdir(parents=True)
        command = ["make", target, f"ARTIFACTS_DIR={artifacts}"]
        ran = subprocess.run(command, cwd=ROOT / folder, env=environment, capture_output=True, text=True, check=False)

        assert ran.returncode == 2
        assert "there is no network" in ran.stderr
