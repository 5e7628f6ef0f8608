"""An exported file changes nothing when it is imported, and no spreadsheet executes any of its cells."""

import csv
import io
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

from entities.targets import Document
from imports.columns import GUARD, BadCell
from imports.layout import Layout, read_header
from runtime.csv_records import records
from runtime.encodings import UTF_8
from stepwise.operations import csv_export
from tests.unit.imports.test_layout import kind

HEADER = csv_export.header("PRODUCT").encode()
NAMES = st.text(st.characters(codec="utf-8") | st.sampled_from("'=+-@\t\r\n\"，,;＝"), min_size=1, max_size=256)


def product(code: str, name: str, attributes: dict[str, Any]) -> Document:
    return Document("TENANT#t1", f"PRODUCT#{code}", "", code, name, "PRODUCT", 1, "t1", attributes, False)


def layout() -> Layout:
    return read_header(next(records([HEADER], 1000)), kind(), UTF_8, corrected=False, ignore=False)


@given(NAMES, st.text(st.sampled_from("-_aZ9"), min_size=1, max_size=9), st.none() | st.booleans())
@example("=1+1", "-", True)
@example("'=x", "a", None)
@example("''@", "a", False)
@example('two\nlines, "quoted"', "a", None)
def test_every_product_accepted_by_an_import_is_read_back(name: str, code: str, available: bool | None) -> None:
    known = layout()
    attributes: dict[str, Any] = {"category": "tea", "price": 1, "currency": "JPY"}
    attributes |= {} if available is None else {"available": available}
    try:
        assume(known.kind.columns["name"].value(name) == name)
    except BadCell:
        assume(False)
    line = csv_export._line(known, product(code, name, attributes))
    assert line is not None
    _, record = records([HEADER + line.encode()], 64 * 1024)
    read = known.row(1, record.data)

    assert (read.refusal, read.code, read.name, read.attributes) == (None, code, name, attributes)
    assert not any(cell.startswith(tuple("=+-@\t\r\n")) for cell in next(csv.reader(io.StringIO(line, newline=""))))


@pytest.mark.parametrize(
    ("guard", "code", "name"),
    [("true", "-a", "=x"), ("TRUE", "-a", "=x"), ("", "'-a", "'=x"), ("false", "'-a", "'=x")],
)
def test_only_a_guarded_row_loses_its_apostrophes(guard: str, code: str, name: str) -> None:
    row = f"'-a,'=x,tea,1,JPY,,,{guard}".encode()

    assert layout().key_cell(row) == code
    assert layout().row(1, row.replace(b"'-a", b"a")).name == name


def test_invalid_guard_is_rejected() -> None:
    refusal = layout().row(1, b"a,x,tea,1,JPY,,,yes").refusal

    assert refusal
    assert (refusal.code, refusal.column) == ("NotAllowed", GUARD.name)
    assert "true or false" in kind().message(refusal.code, refusal.column)
