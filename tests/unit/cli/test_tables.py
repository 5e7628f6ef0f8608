"""Output for people: no word is truncated at any terminal width; a pipe gets a line from time to time."""

import io
import time

import pytest
from rich.console import Console
from rich.text import Text

from stepwise.cli import output, views, waiting

ID = "o-" + "x" * 60
COMMAND = "./stepwise commands retry 'tenant1/PRODUCT#tea-01' --reason WHY --port 4567"
RECORDS = [{"id": ID, "cause": "GatewayUnavailable: the gateway refuses all requests " * 3, "command": COMMAND}]


def drawn(width: int) -> str:
    out = io.StringIO()
    table = views.records("Needs attention", ["id", "cause", "command"], RECORDS)
    Console(file=out, width=width, soft_wrap=True, highlight=False).print(table)
    return out.getvalue()


@pytest.mark.parametrize("width", [20, 40, 80, 100, 140, 300])
def test_no_word_is_truncated(width: int) -> None:
    text = drawn(width)

    for word in [ID, *COMMAND.split(), "GatewayUnavailable:"]:
        assert word in text


@pytest.mark.parametrize("width", [40, 80])
def test_oversized_table_becomes_a_field_list_with_whole_commands(width: int) -> None:
    text = drawn(width)

    assert f"id: {ID}\n" in text
    assert f"command: {COMMAND}\n" in text


def test_table_is_no_wider_than_the_terminal() -> None:
    lines = drawn(130).splitlines()

    assert lines[1].startswith("┏")
    assert max(map(len, lines)) <= 130


def test_color_can_be_turned_off(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_COLOR", "1")
    out = io.StringIO()
    Console(file=out, force_terminal=True).print(Text("FAILED", style="red"))

    assert "\x1b[31m" not in out.getvalue()


def test_pipe_gets_a_line_from_time_to_time(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(waiting, "SECONDS", 0.01)
    with waiting.waiting("uploading") as line:
        line.update("7 of 10 rows")
        deadline = time.monotonic() + 10
        told = ""
        while "7 of 10" not in told and time.monotonic() < deadline:
            told += capsys.readouterr().err

    assert "s: 7 of 10 rows\n" in told


def test_standard_output_contains_only_json(capsys: pytest.CaptureFixture[str]) -> None:
    output.choose(as_json=True)
    try:
        views.console().print("for a person")
        output.say("for a person")
        output.listing("Orders", "orders", [{"order_id": "o-1", "total": 3}], ["order_id"])
    finally:
        output.choose(as_json=False)

    assert (
        capsys.readouterr().out
        == '{\n  "orders": [\n    {\n      "order_id": "o-1",\n      "total": 3\n    }\n  ]\n}\n'
    )
