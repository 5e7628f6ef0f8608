"""Every entry point for text by people refuses invisible text, names the field, and accepts valid text."""

import json
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from accounts.errors import InvalidApplication
from accounts.requests import parse_submit
from approvals.errors import InvalidApproval, InvalidDecision
from approvals.requests import parse_decision, parse_request
from commands.requests import parse_retry, parse_skip
from entities.command import publish_parser
from entities.errors import InvalidCommand
from entities.registered import TYPES
from imports.errors import InvalidImport
from imports.requests import parse_stop
from runtime.text import UNSAFE_TO_PRINT, problem
from stepwise.cli import checks
from stepwise.console.changes import Change, InvalidForm, checked
from stepwise.console.changes import Field as FormField
from stepwise.local import terminal
from stepwise.operations.stock import InvalidStock
from stepwise.operations.stock import _parse as parse_stock
from tests.kit.openings import application

BLANK = ("\u200b", "\u3164", "\u00a0\u2800", "\ufe0f", "\U000e0041", "\u034f\u00ad", "\u0301", "\t \u2028", "")
FORBIDDEN = (
    "\x00",
    "\x1b[31mred",
    "a\x9b",
    "a\u202e",
    "\u2066a",
    "a\ufffd",
    "\ue000",
    "a\ud800",
    "\ufdd0",
    "\U0010ffff",
)
LINES = ("a\nb", "a\tb", "a\u2028b", "a\r")
GOOD = ("Zoë", "Zoe\u0308", "نمی\u200cخواهم", "👩\u200d💻", "葛\U000e0100", "O'Brien", "co\u00adop", "ก็ดี")

parse_command = publish_parser(lambda: TYPES)
_FORM = Change("x", "X", lambda _: "", lambda _: (), lambda *_: "", fields=(FormField("reason", "Why"),))


@cache
def event(name: str) -> dict[str, Any]:
    return dict(json.loads(Path(f"events/{name}.json").read_text(encoding="utf-8")))


def _argument(check: Callable[[str], str]) -> Callable[[dict[str, Any]], Any]:
    return lambda given: check(given["text"])


# Parser, accepted input, field, error, and a flag: the field may have several lines.
DOORS: dict[str, tuple[Callable[[Any], Any], dict[str, Any], str, type[Exception], bool]] = {
    **{
        f"command {name}": (parse_command, event("commands/publish_command"), name, InvalidCommand, False)
        for name in ("name", "id", "request_id")
    },
    "retry by": (parse_retry, event("commands/retry_command"), "by", InvalidCommand, False),
    "retry reason": (parse_retry, event("commands/retry_command"), "reason", InvalidCommand, True),
    "skip by": (parse_skip, event("commands/skip_command"), "by", InvalidCommand, False),
    "decided_by": (parse_decision, event("approvals/decide_approval"), "decided_by", InvalidDecision, False),
    "subject": (parse_request, event("approvals/request_approval"), "subject", InvalidApproval, False),
    "requested_by": (parse_request, event("approvals/request_approval"), "requested_by", InvalidApproval, False),
    "stop by": (parse_stop, {"tenant_code": "t", "import_id": "0" * 32}, "by", InvalidImport, False),
    "applicant": (parse_submit, application(), "name", InvalidApplication, False),
    "stock reason": (parse_stock, {"sku": "A", "pieces": 1}, "reason", InvalidStock, True),
    "console who": (lambda form: checked(_FORM, form), {"reason": "why"}, "who", InvalidForm, False),
    "console reason": (lambda form: checked(_FORM, form), {"who": "ada"}, "reason", InvalidForm, True),
    "cli reason": (_argument(checks.reason), {}, "text", typer.BadParameter, True),
    "cli name": (_argument(checks.line), {}, "text", typer.BadParameter, False),
}
# The console strips white space.
_WITHOUT_ENDS = ("console who", "console reason")


@pytest.mark.parametrize("door", DOORS)
def test_text_without_a_visible_character_is_rejected_with_its_field(door: str) -> None:
    parse, good, field, error, _ = DOORS[door]
    for text in (*BLANK, *FORBIDDEN):
        with pytest.raises(error) as refused:
            parse({**good, field: text})
        assert field in str(refused.value) or error is typer.BadParameter
        assert not text.strip() or text not in str(refused.value)


@pytest.mark.parametrize("door", DOORS)
def test_line_breaks_are_for_free_text_only(door: str) -> None:
    parse, good, field, error, lines = DOORS[door]
    for text in LINES[: 2 if door in _WITHOUT_ENDS else None]:
        if lines:
            parse({**good, field: text})
        else:
            with pytest.raises(error):
                parse({**good, field: text})


@pytest.mark.parametrize("door", DOORS)
def test_names_in_all_scripts_are_accepted_unchanged(door: str) -> None:
    parse, good, field, _, _ = DOORS[door]
    for text in GOOD:
        parsed = parse({**good, field: text} if door != "applicant" or text != "👩\u200d💻" else good)
        assert getattr(parsed, field, text) in (text, good.get(field))


@pytest.mark.parametrize("door", DOORS)
@given(text=st.text(max_size=20))
def test_every_entry_point_rejects_a_non_text_value(door: str, text: str) -> None:
    parse, good, field, error, lines = DOORS[door]
    try:
        parse({**good, field: text})
    except error:
        return
    assert problem(text.strip() if door in _WITHOUT_ENDS else text, lines=lines) is None


def test_blank_comment_becomes_none() -> None:
    good = event("approvals/decide_approval")
    assert {parse_decision({**good, "comment": text}).comment for text in ("", " ", "\u200b", None)} == {None}
    for text in FORBIDDEN:
        with pytest.raises(InvalidDecision, match="comment: "):
            parse_decision({**good, "comment": text})
    assert parse_decision({**good, "comment": "first\nsecond\tline"}).comment == "first\nsecond\tline"


def test_tools_escape_what_deployed_code_calls_unsafe_to_print() -> None:
    characters = "".join(map(chr, range(sys.maxunicode + 1)))

    assert terminal.UNSAFE_TO_PRINT.findall(characters) == UNSAFE_TO_PRINT.findall(characters)
