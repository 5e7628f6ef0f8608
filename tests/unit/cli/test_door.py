"""Output is safe for terminals, and a closed pipe ends the program quietly."""

import io
import json
import os
import re
import subprocess
import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.progress import Progress, TextColumn

from stepwise.cli import output, views
from stepwise.local.drawing import Screen, Text
from stepwise.local.terminal import BROKEN_PIPE, Door, readable
from tests.kit.project import TOOLS

# Without tab and line feed. C0, DEL, C1, lines and paragraphs, bidirectional overrides and isolates.
OBEYED = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
HOSTILE = "a\x1b[2J\x9b31m\u202eb\x07\r\x7f[/red]:tea:\ud800"
texts = st.text(st.characters() | st.sampled_from(HOSTILE))
PROGRAM = [sys.executable, "-m", "stepwise.cli"]
# Ways to write to a terminal without this module.
AROUND = re.compile(
    r"(?<![.\w])print\(|__std(out|err)__|(?<!stdin)\.buffer\b|os\.write\(|/dev/tty|rich(\.text)? import|\bConsole\("
)


def drawn(*what: Any, terminal: bool = False) -> str:
    stream = io.StringIO()
    stream.isatty = lambda: terminal  # type: ignore[method-assign]
    with redirect_stdout(stream):
        screen = Screen()
        for one in what:
            screen.print(one)
    return stream.getvalue()


@given(texts)
def test_no_text_keeps_a_terminal_control_character(text: str) -> None:
    stream = io.StringIO()
    Door(stream).write(text)
    table = views.table(text, [text], [[text], [Text(text)], [views.cell({text: [text]})]])
    shown = stream.getvalue() + drawn(text, Text(text), Text().append(text), table)

    assert not OBEYED.search(shown)
    shown.encode()


@given(st.recursive(texts | st.integers() | st.none(), lambda inner: st.lists(inner) | st.dictionaries(texts, inner)))
def test_json_has_every_value_and_no_terminal_control_character(value: Any) -> None:
    text = output.json_text(value, indent=1)

    assert json.loads(text) == value
    assert not OBEYED.search(text)


def test_foreign_text_is_shown_verbatim_and_ours_is_styled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    shown = drawn(Text(HOSTILE, style="red"), terminal=True)

    assert "a\\x1b[2J\\x9b31m\\u202eb\\x07\\x0d\\x7f[/red]:tea:\\ud800" in shown
    assert "\x1b[31m" in shown.replace("\\x9b31m", "")


def test_progress_output_is_sanitized_too() -> None:
    stream = io.StringIO()
    stream.isatty = lambda: True  # type: ignore[method-assign]
    with redirect_stdout(stream), Progress(TextColumn("{task.description}"), console=Screen()) as bar:
        bar.add_task("\x1b[2J\x9b")

    assert "\x1b[2J" not in stream.getvalue()
    assert "\x9b" not in stream.getvalue()


@pytest.mark.parametrize("encoding", ["cp932", "ascii", "utf-8"])
def test_character_missing_on_the_terminal_is_escaped(encoding: str) -> None:
    raw = io.BytesIO()
    stream = Door(io.TextIOWrapper(raw, encoding=encoding))
    stream.write("tea é 緑茶 \U0001f375 \udc82\n")
    with redirect_stdout(stream):
        text = output.json_text("é 緑茶 \U0001f375 \udc82")
    stream.write(text)
    stream.flush()

    assert raw.getvalue().decode(encoding).endswith(text)
    assert json.loads(text) == "é 緑茶 \U0001f375 \udc82"


def test_data_is_unchanged_in_a_file_and_readable_on_a_terminal() -> None:
    raw = io.BytesIO()
    door = Door(io.TextIOWrapper(raw, encoding="cp932"))
    door.data("\x1b[2J\u202eé\r\n")
    terminal = io.StringIO()
    terminal.isatty = lambda: True  # type: ignore[method-assign]
    Door(terminal).data("\x1b[2J\u202e\n")

    assert raw.getvalue() == "\x1b[2J\u202eé\r\n".encode()
    assert terminal.getvalue() == "\\x1b[2J\\u202e\n"


def test_closed_pipe_ends_a_command_quietly() -> None:
    read, write = os.pipe()
    os.close(read)
    ended = subprocess.run([*PROGRAM, "--help"], stdout=write, stderr=subprocess.PIPE, env=_environment(), check=False)
    os.close(write)

    assert (ended.returncode, ended.stderr) == (BROKEN_PIPE, b"")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_full_disk_is_a_failure() -> None:
    with open("/dev/full", "w") as full:
        ended = subprocess.run(
            [*PROGRAM, "--help"], stdout=full, stderr=subprocess.PIPE, env=_environment(), check=False
        )

    assert (ended.returncode, b"No space left" in ended.stderr, b"Traceback" in ended.stderr) == (1, True, False)


@pytest.mark.parametrize(
    "path", sorted([*(TOOLS / "cli").glob("*.py"), *(TOOLS / "deployment").rglob("*.py")]), ids=str
)
def test_no_module_bypasses_the_output(path: Path) -> None:
    code = path.read_text()

    assert not AROUND.search(code)
    assert readable(code) == code


def _environment() -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
