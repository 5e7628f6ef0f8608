"""The CSV reader: the same rows and cells as Python's strict csv module, each with its position."""

import csv
import io
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.csv_records import Malformed, cells, is_blank_row, records
from runtime.csv_signs import found_instead, separator

MAX_ROW = 1000
TEXTS = st.text(st.sampled_from('a",\r\n é\t'), max_size=30)
ANY = st.text(st.sampled_from('a",\n\r '), max_size=40)


def in_chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


def parts(data: bytes, size: int) -> list[bytes]:
    """The reader's records, each cut out of the file by its position. The last one may have an open quote."""
    places = [(record.offset, record.length) for record in records(in_chunks(data, size), MAX_ROW)]
    return [data[offset : offset + length] for offset, length in places]


def strictly(text: str) -> list[list[str]] | None:
    """The rows by the csv module; None if it rejects the text."""
    try:
        return [row for row in csv.reader(io.StringIO(text, newline=""), strict=True) if row]
    except csv.Error:
        return None


@given(st.lists(st.lists(TEXTS, min_size=2, max_size=4), max_size=6), st.sampled_from(["\r\n", "\n", "\r"]), st.data())
def test_csv_module_output_is_read_back(rows: list[list[str]], line_end: str, data: st.DataObject) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator=line_end).writerows(rows)
    size = data.draw(st.integers(1, 40))

    assert [cells(part) for part in parts(text.getvalue().encode(), size)] == rows


@given(ANY, st.integers(1, 41))
def test_any_text_is_read_or_rejected_like_the_strict_csv_module(text: str, size: int) -> None:
    found = parts(text.encode(), size)
    try:
        rows = [cells(part) for part in found]
    except Malformed:
        assert strictly(text) is None
    else:
        assert list(filter(has_a_sign, rows)) == list(filter(has_a_sign, strictly(text) or []))


def has_a_sign(row: list[str]) -> bool:
    """Returns False for a line of spaces, which the csv module takes for a row."""
    return len(row) > 1 or row[0].strip() != ""


@given(ANY, st.integers(1, 41))
def test_chunk_size_makes_no_difference(text: str, size: int) -> None:
    assert list(records(in_chunks(text.encode(), size), 20)) == list(records([text.encode()], 20))


@pytest.mark.parametrize(
    ("text", "flaw", "cell", "found"),
    [
        ('a,"Tea"  ,b', "space", 2, ["a", "Tea", "b"]),
        ('"abc"def,b', "text", 1, ['"abc"def', "b"]),
        ('a,"b""c" d,e"f,"g"h', "text", 2, ["a", '"b""c" d', 'e"f', '"g"h']),
        ('a,"b,c', "open", 2, ["a", '"b,c']),
        ('a,"b\n2,"x, y",z', "text", 2, ["a", '"b\n2,"x', ' y"', "z"]),
    ],
)
def test_misplaced_quote_is_located_without_losing_cell_content(
    text: str, flaw: str, cell: int, found: list[str]
) -> None:
    with pytest.raises(Malformed) as malformed:
        cells(text.encode())

    assert (malformed.value.flaw, malformed.value.cell, malformed.value.cells) == (flaw, cell, found)


def test_cell_beyond_the_limit_of_the_csv_module_is_read() -> None:
    long = "x" * 200_000

    assert cells(f'a,"{long}"""'.encode()) == ["a", f'{long}"']


@pytest.mark.parametrize("text", [",,,,", " , ", '"",""', "\u3000,\xa0", "\u200b,\ufeff", '"" ,', '"\n",'])
def test_row_without_anything_visible_is_blank(text: str) -> None:
    assert is_blank_row(text.encode())
    assert not is_blank_row(f"{text},0".encode())


@pytest.mark.parametrize("data", [b"\0,\0", b"\x1b,", b'"""",', b"\xff,", b",-,", "\u3000,ﾊ".encode("cp932"), None])
def test_row_with_a_symbol_or_damage_is_not_blank(data: bytes | None) -> None:
    assert not is_blank_row(data, "cp932" if data and b"\x81\x40" in data else "utf-8")


def test_ideographic_space_is_blank_in_cp932() -> None:
    assert is_blank_row("\u3000,".encode("cp932"), "cp932")


@pytest.mark.parametrize(
    ("head", "what"),
    [
        (b"", "no bytes"),
        (b"\xef\xbb\xbf", "only a byte order mark"),
        (b"\r\n \n", "only blank lines"),
        (b"PK\x03\x04\x14\0\6\0" + b"\0" * 22 + b"[Content_Types].xml", "an Excel workbook"),
        (b"PK\x03\x04\x14\0" + b"\0" * 24 + b"products.csv", "a ZIP archive"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", ".xls"),
        (b"\x1f\x8b\x08\0", "gzip"),
        (b"%PDF-1.7", "PDF"),
        (b"\xef\xbb\xbf <!DOCTYPE html>", "HTML"),
        (b'<?xml version="1.0"?><html>', "HTML"),
        (b"<rows/>", "XML"),
        (b'[{"code": "p1"}]', "JSON"),
        ("code,name\np1,茶".encode("utf-16-le"), "UTF-16 (little-endian) without a mark"),
        ("code,name\np1,茶".encode("utf-16-be"), "UTF-16 (big-endian) without a mark"),
        (b"code\0,name", "binary"),
    ],
)
def test_file_that_is_not_csv_is_recognized(head: bytes, what: str) -> None:
    assert what in found_instead(head)


@pytest.mark.parametrize("head", [b"code,name", b"BZh,name", b"\xef\xbb\xbfcode\n", "名前,茶".encode("cp932"), b"a"])
def test_text_is_not_mistaken_for_another_format(head: bytes) -> None:
    assert found_instead(head) == ""


@pytest.mark.parametrize(
    ("header", "what"),
    [
        ("code;name;price", "one column; the separator looks like `;`"),
        ("code;name;price,currency", "2 columns; the separator looks like `;`"),
        ("\ufeffcode\tname", "a tab"),
        ('"code"|"name"', "`|`"),
        ("code:name:price", "`:`"),
        ("code^name^price", "`^`"),
        ("code name price", "a space"),
        ("code\x1fname\x1fprice", "the control character U+001F"),
        ("code，name", "a full-width comma"),
        ("sep=;", "`sep=;`"),
        ("SEP=,", "`sep=,`"),
        ("code", ""),
        ("code,na;me", ""),
        ("code,name", ""),
    ],
)
def test_separator_is_recognized(header: str, what: str) -> None:
    found = separator(header, ["code", "name", "price"])

    assert what in found
    assert bool(found) == bool(what)
