"""Every Makefile target stays tested: a test runs it, or a list says why none does and what runs it instead."""

import re

import pytest
import yaml

from tests.kit.each import each
from tests.kit.project import ROOT
from tests.kit.targets import BY_PYTEST, COVERED, ELSEWHERE, SMALLEST, TARGETS, recipe

JOBS = yaml.safe_load((ROOT / ".github" / "workflows" / "check.yml").read_text())["jobs"]
BY_HAND = {"by hand", "before a release, by hand"}
# Targets that need a variable.
NEEDED = {"unit-only": ["ONLY=ordering"]}


def test_every_target_is_in_one_list() -> None:
    assert sorted([*SMALLEST, *BY_PYTEST, *COVERED, *ELSEWHERE]) == sorted(TARGETS)


@pytest.mark.slow
@each("target", TARGETS)
def test_make_can_parse_every_target(target: str) -> None:
    assert recipe(target, *NEEDED.get(target, []))


@pytest.mark.slow
def test_test_files_of_targets_are_in_make_test() -> None:
    tested = set(_paths("test"))

    for target in BY_PYTEST:
        paths = _paths(target, *NEEDED.get(target, []))
        assert paths, target
        assert {path for path in paths if not tested & {path, *_parents(path)}} == set(), target
        assert {path for path in paths if not (ROOT / path).exists()} == set(), target


@each(("target", "by"), COVERED.items())
def test_covered_targets_name_an_existing_target_or_test(target: str, by: str) -> None:
    assert by in TARGETS or (ROOT / by).exists()


@each(("target", "why"), ELSEWHERE.items())
def test_excluded_targets_have_a_reason_and_a_job(target: str, why: tuple[str, str]) -> None:
    reason, job = why

    assert reason
    assert job in BY_HAND or job in JOBS


def _paths(target: str, *variables: str) -> list[str]:
    """The paths passed to pytest by the target."""
    lines = [line for line in recipe(target, *variables) if "-m pytest" in line]
    return [word for line in lines for word in line.split() if re.match(r"tests/\w", word)]


def _parents(path: str) -> set[str]:
    return {path.rsplit("/", depth)[0] for depth in range(1, path.count("/") + 1)}
