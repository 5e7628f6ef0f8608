"""A command suggested by the output selects the same stack as the command that suggested it."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer

from stepwise.cli import hints
from stepwise.cli.app import app
from stepwise.local.emulator.emulator import free_port
from stepwise.local.terminal import readable
from tests.kit.command_line import stepwise
from tests.kit.project import ROOT

pytestmark = pytest.mark.slow
IMPORTS_RETRY: Any = typer.main.get_command(app).commands["imports"].commands["retry"]  # type: ignore[attr-defined]


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
        (["--stack", "stepwise"], ""),
    ],
)
def test_hint_selects_the_same_stack(options: list[str], suggested: str) -> None:
    stepwise("show", "o-1", "--port", str(free_port()))
    stepwise("show", "", *options)

    assert hints.command("recover", "o-1") == f"./stepwise recover o-1{suggested}"


def test_hint_selects_aws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_PROFILE", "no-such-profile")
    shown = stepwise("show", "o-1", "--aws", "--port", "4999")

    assert (shown.code, hints.command("recover", "o-1")) == (3, "./stepwise recover o-1 --aws")
    assert hints.chosen.stack_name == "stepwise-prod"


def test_hint_names_the_port_that_the_environment_would_change(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hints.PORT, "4999")
    stepwise("show", "", "--port", "4566")

    assert hints.command("recover", "o-1") == "./stepwise recover o-1 --port 4566"


def test_hint_is_quoted_and_starts_like_the_command_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(hints.PROGRAM, "/opt/my tools/stepwise")
    stepwise("show", "")

    assert hints.command("commands", "show", "t1/A#1") == "'/opt/my tools/stepwise' commands show 't1/A#1'"


def test_error_suggests_the_command_that_starts_the_stack_on_this_port() -> None:
    port = str(free_port())
    shown = stepwise("show", "o-1", "--port", port, "--stack", "stepwise")

    assert (shown.code, shown.error) == (3, None)
    assert f"./stepwise start --port {port}\n" in shown.err


def test_symlink_to_the_program_works_and_is_suggested(tmp_path: Path) -> None:
    (tmp_path / "links").mkdir()
    link = tmp_path / "links" / "sw"
    link.symlink_to(os.path.relpath(ROOT / "stepwise", link.parent))
    port = str(free_port())
    run = subprocess.run([link, "stock", "--port", port], capture_output=True, text=True, check=False)

    assert (run.returncode, f"{link} start --port {port}" in run.stderr) == (3, True)


ORDERS = ("-N1", "--help", "--watch", "--json", "-", "--", "o-1")
OTHERS = (
    *(*ORDERS, "two words", "it's", '"x"', "$(date)", "`date`", "a\\b", "a;b", "*", "煎茶"),
    *("a\nb", "\x1b[2J", "\u202e", "\udc82"),
)
PRINT_WORDS = f"""#!{sys.executable}
import os, sys
sys.stdout.buffer.write(b"\\0".join(map(os.fsencode, sys.argv[1:])))
"""


@pytest.fixture
def words_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], list[str]]:
    """The words that a shell passes to the program when it runs a hint."""
    program = tmp_path / "my stepwise"
    program.write_text(PRINT_WORDS)
    program.chmod(0o755)
    monkeypatch.setenv(hints.PROGRAM, str(program))

    def run(hint: str) -> list[str]:
        ran = subprocess.run(["bash", "-c", hint], stdout=subprocess.PIPE, check=True)
        return [os.fsdecode(word) for word in ran.stdout.split(b"\0")]

    return run


@pytest.mark.parametrize("order_id", ORDERS)
@pytest.mark.parametrize("more", [(), (("--watch",),)])
def test_hint_runs_as_printed_for_any_order(
    words_of: Callable[[str], list[str]], order_id: str, more: tuple[tuple[str]]
) -> None:
    port = str(free_port())
    stepwise("show", "o-1", "--port", port)
    ended = stepwise(*words_of(hints.command("show", order_id, *more)))

    assert (ended.code, "StackNotFound" in ended.err) == (3, True)


@pytest.mark.parametrize("value", OTHERS)
def test_hint_passes_any_word_to_the_command(words_of: Callable[[str], list[str]], value: str) -> None:
    stepwise("show", "o-1")
    hint = hints.command("imports", "retry", value, ("--of", value))
    parser = IMPORTS_RETRY.make_parser(IMPORTS_RETRY.make_context("retry", [], resilient_parsing=True))
    given, _, _ = parser.parse_args(words_of(hint)[2:])

    assert (given["file"], given["of"]) == (value, value)
    assert readable(hint) == hint
    assert "\n" not in hint
