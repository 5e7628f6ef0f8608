"""The display of values on a page; nothing on it is markup unless a template says so."""

from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal
from functools import partial

import pytest

from stepwise.console import rendering
from stepwise.console.cache import Recent
from stepwise.console.rendering import document, duration, link, moment, quote_path


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 ms"),
        (0.0849, "85 ms"),
        (3.21, "3.2 s"),
        (59.96, "60.0 s"),
        (60, "1 min"),
        (245, "4 min 5 s"),
        (7380, "2 h 3 min"),
        (7200, "2 h"),
        (273_600, "3 d 4 h"),
    ],
)
def test_duration_has_its_two_largest_units(seconds: float, text: str) -> None:
    assert duration(timedelta(seconds=seconds)) == text


def test_document_shows_numbers_with_every_digit() -> None:
    assert document({"a": [Decimal("12345678901234567890.5")]}) == '{\n  "a": [\n    12345678901234567890.5\n  ]\n}'


def test_time_is_shown_in_utc() -> None:
    tokyo = datetime(2026, 11, 23, 9, tzinfo=timezone(timedelta(hours=9)))

    assert moment(tokyo) == moment(tokyo.isoformat()) == "2026-11-23 00:00:00"
    assert (moment(None), moment(""), moment("soon")) == ("", "", "soon")
    assert moment(datetime(2026, 11, 23, tzinfo=UTC)) == "2026-11-23 00:00:00"


def test_link_omits_empty_values_and_quotes_the_rest() -> None:
    assert link("/runs", name="a&b", status="", since=None) == "/runs?name=a%26b"
    assert link("/runs") == "/runs"
    assert quote_path("TENANT#t/../x?y") == "TENANT%23t%2F..%2Fx%3Fy"


@pytest.mark.parametrize("macro", ["status", "when"])
def test_macro_escapes_its_arguments(macro: str) -> None:
    text = rendering.environment().from_string("{{ ui[macro](value) }}").render(macro=macro, value="<img src=x>")

    assert "<img" not in text
    assert "&lt;img src=x&gt;" in text


def test_no_template_marks_anything_as_safe() -> None:
    templates = (rendering.STATIC.parent / "templates").glob("*.html")

    assert [path.name for path in templates if "|safe" in path.read_text() or "autoescape" in path.read_text()] == []


def test_no_template_has_an_inline_script_or_style() -> None:
    templates = {path.name: path.read_text() for path in (rendering.STATIC.parent / "templates").glob("*.html")}

    assert [
        name for name, text in templates.items() if "<style" in text or " style=" in text or " onclick" in text
    ] == []
    assert [name for name, text in templates.items() if "<script" in text and "src=" not in text] == []


def test_cache_is_bounded_and_keeps_recent_entries() -> None:
    kept: Recent[int] = Recent(2)
    made: list[int] = []

    def make(number: int) -> int:
        made.append(number)
        return number

    for number in (1, 2, 1, 3, 1):
        assert kept.get(number, partial(make, number)) == number
    assert (made, len(kept)) == ([1, 2, 3], 2)


def test_cache_entries_expire() -> None:
    kept: Recent[int] = Recent(2, seconds=0)
    numbers = iter(range(5))

    assert [kept.get("a", lambda: next(numbers)) for _ in range(3)] == [0, 1, 2]
