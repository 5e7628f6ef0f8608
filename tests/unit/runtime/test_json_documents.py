"""JSON from outside: every duplicate member is refused by its path, and every number keeps its digits."""

import json
import time
from contextlib import suppress
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st

from runtime.json_documents import MAX_DEPTH, NotJson, event_text, parse_json, read_document
from stepwise.cli.checks import read_json
from tests.kit.command_line import stepwise

NAMES = st.text(st.characters(exclude_categories=["Cs"]), max_size=3)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"]), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=6,
)
NUMBERS = st.decimals(allow_nan=False, allow_infinity=False)


def wrapped(text: str, path: list[str | int]) -> str:
    """A document with this text at this path, beside other values."""
    for part in reversed(path):
        text = f"[{'0,' * part}{text}]" if isinstance(part, int) else f"{{{json.dumps(part)}:{text}}}"
    return text


@given(VALUES)
def test_document_without_duplicate_members_is_read_as_by_python(value: Any) -> None:
    assert parse_json(json.dumps(value)) == value
    assert parse_json(json.dumps(value, ensure_ascii=False).encode()) == value


@given(st.lists(NAMES | st.integers(0, 3), max_size=5), NAMES, VALUES, VALUES)
def test_every_duplicate_member_is_rejected_by_its_path(
    path: list[str | int], name: str, first: Any, second: Any
) -> None:
    """Also holds for a member that is spelled with an escape."""
    spelled = "".join(f"\\u{unit:04x}" for unit in memoryview(name.encode("utf-16-le")).cast("H"))
    text = f'{{{json.dumps(name)}:{json.dumps(first)},"another":0,"{spelled}":{json.dumps(second)}}}'
    with pytest.raises(NotJson, match="repeated") as raised:
        parse_json(wrapped(text, path))
    assert raised.value.flaws[0].path == (*path, name)


@given(NUMBERS)
def test_every_digit_is_kept(number: Decimal) -> None:
    assert parse_json(f"[{number}]") == [number]
    assert read_document(json.loads(event_text([number])), ValueError, "it") in ([number], [float(number)])
    assert Decimal(str(read_document(json.loads(event_text([number])), ValueError, "it")[0])) == number


@pytest.mark.parametrize("depth", [MAX_DEPTH, MAX_DEPTH + 1])
def test_document_may_have_64_levels(depth: int) -> None:
    text = "[" * (depth - 1) + "{}" + "]" * (depth - 1)
    if depth <= MAX_DEPTH:
        assert parse_json(text)
    else:
        with pytest.raises(NotJson, match="64 levels"):
            parse_json(text)


@pytest.mark.parametrize(
    "text",
    [
        f'{{{",".join(f'"{number}":0' for number in range(20_000))},"0":1}}',
        f"[{','.join(['1e-999999999'] * 20_000)}]",
        f"[{','.join(['9' * 4_300] * 60)}]",
        f"[{','.join(['"\\ud800"'] * 25_000)}]",
        '{"a":' * 40_000,
    ],
    ids=lambda text: text[:20],
)
def test_no_body_takes_long_to_parse(text: str) -> None:
    began = time.process_time()
    with suppress(NotJson):
        parse_json(text)
    assert time.process_time() - began < 1.5


@pytest.mark.parametrize(
    ("content", "told"),
    [
        ("{}".encode("utf-16"), "in UTF-16"),
        (b"{'a': 1}", "not JSON at line 1, column 2"),
        (b"", "empty"),
        (b'{"currency": "JPY", "currency": "USD"}', "currency: repeated"),
        ("名".encode("cp932"), "not UTF-8 at byte 1"),
    ],
    ids=["UTF-16", "quotes", "empty", "repeated", "cp932"],
)
def test_non_json_file_is_rejected_by_name(tmp_path: Path, content: bytes, told: str) -> None:
    file = tmp_path / "order.json"
    file.write_bytes(content)
    with pytest.raises(typer.BadParameter, match=f"order.json: {told}"):
        read_json(file, "FILE")


def test_file_may_start_with_a_byte_order_mark(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_bytes(b"\xef\xbb\xbf" + '{"name": "煎茶"}'.encode())
    assert read_json(file, "FILE") == {"name": "煎茶"}


def test_duplicate_member_in_a_file_starts_nothing(tmp_path: Path) -> None:
    file = tmp_path / "order.json"
    file.write_text('{"order_id": "o-1", "items": [], "items": []}')
    ended = stepwise("place", "--file", str(file))
    assert (ended.code, "items: repeated" in ended.err.replace("\n", " ")) == (2, True)
