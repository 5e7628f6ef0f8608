"""Deployed packages are the tested ones, and come only from package indexes."""

import re
from pathlib import Path

from tests.kit.each import each
from tests.kit.project import LAYER, PINS, ROOT, SERVICE_MODELS, read_json, relative_name

FILES = [*PINS, *sorted((ROOT / "requirements").glob("*.in"))]


def lines(path: Path) -> list[str]:
    """The requirements of a file, without its comments."""
    bare = (line.partition("#")[0].strip() for line in path.read_text().splitlines())
    return [line for line in bare if line]


@each("path", PINS, ids=relative_name)
def test_every_version_is_pinned(path: Path) -> None:
    assert [line for line in lines(path) if not re.fullmatch(r"[\w.-]+==[\w.]+", line)] == []


@each("path", FILES, ids=relative_name)
def test_requirements_have_no_addresses(path: Path) -> None:
    assert [line for line in lines(path) if "://" in line or "@" in line or "index" in line] == []


@each("path", [LAYER, SERVICE_MODELS], ids=relative_name)
def test_deployed_packages_are_the_tested_ones(path: Path) -> None:
    assert lines(path)
    assert set(lines(path)) <= set(lines(ROOT / "requirements" / "dev.txt"))


def test_runtime_environment_has_the_packages_of_the_layers() -> None:
    assert set(lines(LAYER)) <= set(lines(ROOT / "requirements" / "runtime.txt"))


def test_node_packages_are_pinned_without_addresses() -> None:
    packages = read_json(ROOT / "requirements" / "asl-validator" / "package-lock.json")["packages"]
    installed = {path: body for path, body in packages.items() if path}

    assert "node_modules/asl-validator" in installed
    assert all(body["version"] and body["integrity"] and "resolved" not in body for body in installed.values())
