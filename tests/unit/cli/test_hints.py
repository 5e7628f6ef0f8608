"""A command that the output suggests runs where this one ran."""

import os
import subprocess
from pathlib import Path

import pytest

from cli import hints
from local.emulator.emulator import free_port
from tests.kit.command_line import stepwise
from tests.kit.project import ROOT

pytestmark = pytest.mark.slow


@pytest.fixture(autouse=True)
def _usual(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (hints.PROGRAM, hints.PORT):
        monkeypatch.delenv(name, raising=False)


@pytest.mark.parametrize(
    ("options", "suggested"),
    [
        ([], ""),
        (["--port", "4999"], " --port 4999"),
        (["--port", "4999", "--stack", "other"], " --port 4999 --stack other"),
    ],
)
def test_hint_chooses_the_same_stack(options: list[str], suggested: str) -> None:
    stepwise("show", "o-1", "--port", str(free_port()))
    stepwise("show", "", *options)

    assert hints.command("recover", "o-1") == f"./stepwise recover o-1{suggested}"


def test_hint_chooses_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    shown = stepwise("show", "o-1", "--aws", "--port", "4999")

    assert (shown.code, hints.command("recover", "o-1")) == (3, "./stepwise recover o-1 --aws")


def test_hint_names_the_port_that_the_environment_would_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hints.PORT, "4999")
    stepwise("show", "", "--port", "4566")

    assert hints.command("recover", "o-1") == "./stepwise recover o-1 --port 4566"


def test_hint_is_quoted_and_starts_as_the_command_was_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hints.PROGRAM, "/opt/my tools/stepwise")
    stepwise("show", "")

    assert hints.command("commands", "show", "t1/A#1") == "'/opt/my tools/stepwise' commands show 't1/A#1'"


def test_error_suggests_the_command_that_starts_the_stack_of_this_port() -> None:
    port = str(free_port())
    shown = stepwise("show", "o-1", "--port", port, "--stack", "stepwise")

    assert (shown.code, shown.error) == (3, None)
    assert f"./stepwise start --port {port}\n" in shown.err


def test_a_link_to_the_program_works_and_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "sw"
    link.symlink_to(os.path.relpath(ROOT / "stepwise", link.parent))
    port = str(free_port())
    run = subprocess.run([link, "stock", "--port", port], capture_output=True, text=True, check=False)

    assert (run.returncode, f"{link} start --port {port}" in run.stderr) == (3, True)
