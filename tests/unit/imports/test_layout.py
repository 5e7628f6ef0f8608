"""Headers and rows: every code of the contract, in the order of the columns."""

import unicodedata

import pytest

from entities.products import PRODUCT
from imports.columns import ImportType, import_type
from imports.errors import FileRefused
from imports.layout import Layout, read_header
from runtime.csv_records import Record, records, restored, safe
from runtime.encodings import CP932, UTF_8, Encoding

HEADER = b"code,name,category,price,currency"


def kind() -> ImportType:
    found = import_type(PRODUCT)
    assert found
    return found


def layout(header: bytes = HEADER, *, corrected: bool = False, ignore: bool = False) -> Layout:
    return read_header(Record(0, len(header), header), kind(), UTF_8, corrected=corrected, ignore=ignore)


def refusal(row: bytes, header: bytes = HEADER, encoding: Encoding = UTF_8) -> tuple[str, str] | None:
    own = layout(header)
    found = Layout(own.kind, own.names, own.result_columns, encoding).row(1, row).refusal
    return (found.code, found.column) if found else None


@pytest.mark.parametrize(
    ("header", "code", "column"),
    [
        (b"code,name,category,price", "MissingColumn", "currency"),
        (b"", "MissingColumn", "code"),
        (HEADER + b",colour", "UnknownColumn", "colour"),
        (HEADER + b",name", "UnknownColumn", "name"),
        (b"\xff\xff,name", "NotUtf8", ""),
    ],
)
def test_invalid_header_is_rejected(header: bytes, code: str, column: str) -> None:
    with pytest.raises(FileRefused) as refused:
        layout(header)

    assert (refused.value.code, refused.value.column) == (code, column)
    assert refused.value.message.endswith(".")


def test_unknown_columns_may_be_ignored_and_column_order_is_free() -> None:
    own = layout(b"currency,colour,price,category,name,code", ignore=True)
    row = own.row(7, b"JPY,red,100,tea,Sencha,tea-01")

    assert (row.number, row.sk, row.name) == (7, "PRODUCT#tea-01", "Sencha")
    assert row.attributes == {"currency": "JPY", "price": 100, "category": "tea"}


@pytest.mark.parametrize(
    ("row", "code", "column"),
    [
        (b"p1,,tea,1,JPY", "Required", "name"),
        (b"p1,n,tea,1.5,JPY", "NotANumber", "price"),
        (b"p1,n,tea,-1,JPY", "OutOfRange", "price"),
        (b"p1,n,tea,1000000001,JPY", "OutOfRange", "price"),
        (b"p1,n,tea," + b"9" * 5000 + b",JPY", "OutOfRange", "price"),
        (b"p1,n,tea,+,JPY", "NotANumber", "price"),
        (b"p1,n,TEA,1,JPY", "NotAllowed", "category"),
        (b"p 1,n,tea,1,JPY", "NotAllowed", "code"),
        (b"p1,n,tea,1", "RaggedRow", ""),
        (b'p1,"n,tea,1,JPY', "RaggedRow", ""),
        (b"p1,\xff,tea,1,JPY", "NotUtf8", ""),
        (b"p1,n,TEA,x,J", "NotAllowed", "category"),
        (b"p1," + b"n" * 257 + b",tea,1,JPY", "OutOfRange", "name"),
    ],
)
def test_row_reports_its_first_error_by_column(row: bytes, code: str, column: str) -> None:
    assert refusal(row) == (code, column)


def test_optional_cells_may_be_empty_and_booleans_are_true_or_false() -> None:
    header = HEADER + b",description,available"

    assert layout(header).row(1, b"p1,n,tea,1,JPY,,TRUE").attributes == {
        "category": "tea", "price": 1, "currency": "JPY", "available": True
    }  # fmt: skip
    assert refusal(b"p1,n,tea,1,JPY,,maybe", header) == ("NotAllowed", "available")


def test_cp932_row_is_read_as_cp932() -> None:
    assert refusal("p1,煎茶,tea,1,JPY".encode("cp932")) == ("NotUtf8", "")
    assert refusal("p1,煎茶,tea,1,JPY".encode("cp932"), encoding=CP932) is None


def test_oversized_row_and_duplicate_key_are_rejected() -> None:
    own = layout()

    assert own.row(1, None).refusal.code == "RowTooLong"  # type: ignore[union-attr]
    assert own.row(1, b"p1,n,tea,1,JPY", duplicate=True).refusal.code == "DuplicateKey"  # type: ignore[union-attr]


@pytest.mark.parametrize("header", [b"row,", b"row,code,column,message,"])
def test_corrected_file_says_which_rows_it_contains(header: bytes) -> None:
    own = layout(header + HEADER, corrected=True)
    before = b"12," + b"x," * (header.count(b",") - 1)

    assert own.row(1, before + b"p1,'=1+1,tea,1,JPY").name == "=1+1"
    assert own.row(1, before + b"p1,n,tea,1,JPY").number == 12
    assert own.row(1, before.replace(b"12", b"") + b"p1,n,tea,1,JPY").refusal.column == "row"  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        ("", "Required"),
        ("x", "NotANumber"),
        ("0", "OutOfRange"),
        ("1000000000", "OutOfRange"),
        ("9" * 5_000, "OutOfRange"),
        ("999999999", None),
        ("0012", None),
    ],
)
def test_row_number_of_a_corrected_row_has_bounds(cell: str, code: str | None) -> None:
    found = layout(b"row," + HEADER, corrected=True).row(1, cell.encode() + b",p1,n,tea,1,JPY")

    assert (found.refusal and (found.refusal.code, found.refusal.column)) == (code and (code, "row"))
    assert "1 to 999999999" in kind().message("OutOfRange", "row")


@pytest.mark.parametrize(("cell", "shown"), [("=1", "'=1"), ("\uff1d1", "'\uff1d1"), ("'-5", "''-5"), ("'a", "'a")])
def test_escaped_cell_is_restored(cell: str, shown: str) -> None:
    assert (safe(cell), restored(shown)) == (shown, cell)


def test_corrected_file_must_have_the_column_row() -> None:
    with pytest.raises(FileRefused) as refused:
        layout(corrected=True)

    assert (refused.value.code, refused.value.column) == ("MissingColumn", "row")


def test_long_records_are_skipped_in_any_chunks() -> None:
    long = b'x,"' + b"a,\n" * 40 + b'""q",y'
    data = b"h\n" + long + b"\r\nlast,1\n" + b'"open'
    for size in range(1, 60):
        found = list(records((data[start : start + size] for start in range(0, len(data), size)), 20))
        assert [(one.offset, one.length, one.data is None, one.closed) for one in found] == [
            (0, 1, False, True),
            (2, len(long), True, True),
            (len(long) + 4, 6, False, True),
            (len(long) + 11, 5, False, False),
        ]


@pytest.mark.parametrize(
    ("cell", "code"),
    [
        *(
            (cell, "Required")
            for cell in (" ", "\u00a0", "\u200b", "\u3164", "\u2800", "\ufeff\u00ad", "\U000e0041", "\u0301")
        ),
        *(
            (cell, "NotAllowed")
            for cell in ("\x00", "\x1b[31mred", "Tea\x9b", "\u202etea", "Tea\ufffd", "\ue000", "T\tea")
        ),
        ('"Tea\nGreen"', "NotAllowed"),
    ],
)
def test_name_has_a_visible_character_and_no_hidden_command(cell: str, code: str) -> None:
    assert refusal(f"tea-01,{cell},tea,1,JPY".encode()) == (code, "name")


@pytest.mark.parametrize("name", ["Cafe\u0301", "Café", "ハ\u309aン", "パン", "नमस्ते", "نمی\u200cخواهم"])
def test_names_are_stored_in_one_spelling(name: str) -> None:
    row = layout().row(1, f"tea-01,{name},tea,1,JPY".encode())

    assert row.refusal is None
    assert row.name == unicodedata.normalize("NFC", name)


def test_description_may_have_lines_and_a_blank_optional_cell_is_empty() -> None:
    header = HEADER + b",description"

    assert refusal(b'tea-01,Tea,tea,1,JPY,"one\n\ttwo"', header) is None
    assert refusal("tea-01,Tea,tea,1,JPY,one\u202etwo".encode(), header) == ("NotAllowed", "description")
    assert layout(header).row(1, "tea-01,Tea,tea,1,JPY,\u200b".encode()).attributes == {
        "category": "tea",
        "price": 1,
        "currency": "JPY",
    }
