"""The rows of a file of users, each with its position, in constant memory."""

import csv
import io
import tracemalloc
from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime import csv_records
from user_import.csv_file import (
    MAX_ROW,
    OPTIONAL_COLUMNS,
    REQUIRED_COLUMNS,
    RowPointer,
    parse_header,
    parse_row,
    records,
)
from user_import.errors import (
    ImportRefused,
    InvalidHeader,
    InvalidRow,
    QuoteNotDoubled,
    RowSpansLines,
    RowTooLong,
    UnclosedQuote,
    WrongColumnCount,
    WrongEncoding,
)

BOM = b"\xef\xbb\xbf"
HEADER = b"No.,username,default_password,first_name,last_name"
# 表, ソ and 能 end in the byte of a backslash, ポ and 弌 in that of a bar, ァ in that of @.
TEXTS_OF_CP932 = st.text(st.sampled_from('表ソ能ポ弌ァ山ﾀﾞa",\\|\r\n'), max_size=12)


def in_chunks(data: bytes, size: int) -> Iterator[bytes]:
    return (data[start : start + size] for start in range(0, len(data), size))


@pytest.mark.parametrize("mark", [b"", BOM], ids=["bare", "with a mark"])
@pytest.mark.parametrize("line_end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("last", [b"", b"end"], ids=["with a last line end", "without"])
def test_encodings_and_line_endings_are_read(mark: bytes, line_end: bytes, last: bytes) -> None:
    data = mark + line_end.join([b"a,b", b"", b"  ", b'"c\n""d""",e'])
    data += b"" if last else line_end
    found = list(records([data]))

    assert [record.data for record in found] == [b"a,b", b'"c\n""d""",e']
    assert all(data[record.offset :].startswith(record.data) for record in found)


@pytest.mark.parametrize("blank", [b",", b" , ", b'"",\t', "\u3000,\u200b".encode(), b'"" ,', b'"\n",'])
def test_row_of_empty_cells_keeps_its_number_and_is_not_a_row(blank: bytes) -> None:
    found = list(records([b"a,b\n" + blank + b"\n\n", b"c,d\n" + blank]))

    assert [(record.number, record.data) for record in found] == [(0, b"a,b"), (2, b"c,d")]


def test_row_of_null_bytes_is_damage_not_an_empty_row() -> None:
    assert [record.number for record in records([b"a,b\n\0\0,\n"])] == [0, 1]


def test_empty_file_has_no_records() -> None:
    assert list(records([])) == []
    assert list(records([b"", BOM])) == []


@pytest.mark.parametrize("mark", [b"\xff\xfe", b"\xfe\xff"])
def test_utf_16_is_named(mark: bytes) -> None:
    with pytest.raises(InvalidHeader, match="UTF-16"):
        list(records([mark[:1], mark[1:], b"N\0o\0"]))


@pytest.mark.parametrize(
    ("data", "place"), [(b'"a\nb,c\n', "the header"), (b'a\nb\n\n"c\n', "row 2"), (b'a\n"b""\n', "row 1")]
)
def test_unclosed_quote_is_reported_with_its_row(data: bytes, place: str) -> None:
    with pytest.raises(UnclosedQuote, match=f"^{place} "):
        list(records([data]))


@pytest.mark.parametrize("size", [100, 10**6])
@pytest.mark.parametrize(("end", "error"), [(b"", UnclosedQuote), (b'"\nc\n', RowTooLong)])
def test_unterminated_row_does_not_fill_the_memory(size: int, end: bytes, error: type[ImportRefused]) -> None:
    data = b'a\nb\n"' + b"x,\n" * MAX_ROW + end

    with pytest.raises(error, match=r"^row 2 "):
        list(records(in_chunks(data, size)))


def test_row_at_the_limit_is_read() -> None:
    longest = b"x" * MAX_ROW

    assert [record.data for record in records([b"a\n", longest, b"\n"])] == [b"a", longest]


@pytest.mark.slow
def test_memory_use_is_constant() -> None:
    """It reads 1.2 MB of rows in less than half of that: the file, or one number for each row, would need more."""

    def chunks() -> Iterator[bytes]:
        for _ in range(20):
            yield b'1,taro,"pass\nword",Taro,Yamada\n' * 2000

    tracemalloc.start()
    count = sum(1 for _ in records(chunks()))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert count == 40_000
    assert peak < 500_000


@pytest.mark.parametrize(
    "header",
    [
        HEADER,
        HEADER + b",email,phone,security_profile,routing_profile",
        b"last_name,No.,username,default_password,first_name",
        b' No. ,"username",default_password ,first_name, last_name',
    ],
)
def test_header_names_the_columns_in_any_order(header: bytes) -> None:
    columns = parse_header(header)

    assert set(REQUIRED_COLUMNS) <= set(columns) <= {*REQUIRED_COLUMNS, *OPTIONAL_COLUMNS}


@pytest.mark.parametrize(
    ("header", "problem"),
    [
        (b"", "does not name No., username"),
        (b"No.,username,default_password,first_name", "does not name last_name"),
        (HEADER + b",salary", "column 6"),
        (HEADER + b",,salary", "column 6"),
        (HEADER + b",salary,", "column 6"),
        (b"No.;username;default_password;first_name;last_name", "one column; the separator looks like `;`"),
        (b"sep=;", "`sep=;`"),
        (HEADER.replace(b"username", b"user\xe2\x80\x8bname"), "column 2 differs from username"),
        (HEADER.replace(b"username", b'"user"name'), "column 2 of the first line has text after its closing quote"),
        (HEADER.replace(b"username", b'"username\n1,"taro"'), "text after its closing quote; the header spans 2 lines"),
        (HEADER + b',"x\n1,taro"', "column 6 of the first line is unknown; remove it; the header spans 2 lines"),
        (b'"' + HEADER + b'"', "a quote before and after the whole line hides its commas"),
        (HEADER + b",username", "names username twice"),
        (HEADER.upper(), "does not name"),
        (b"1,taro.yamada,Passw0rd,Taro,Yamada", "does not name"),
        (HEADER + b"\xe9", "UTF-8"),
    ],
)
def test_invalid_header_is_explained_and_not_repeated(header: bytes, problem: str) -> None:
    with pytest.raises(InvalidHeader, match=problem) as refused:
        parse_header(header)

    assert not any(word in str(refused.value) for word in ("taro", "Yamada", "Passw0rd", "salary"))


def test_row_is_read_by_its_columns() -> None:
    row = parse_row('2,"a,b","c""d",É,\n'.strip().encode(), ("No.", "username", "default_password", "x", "y"))

    assert row == {"No.": "2", "username": "a,b", "default_password": 'c"d', "x": "É", "y": ""}


@pytest.mark.parametrize("columns", [HEADER + b",", HEADER + b",,  ,\xe2\x80\x8b"])
def test_trailing_empty_columns_are_ignored(columns: bytes) -> None:
    names = parse_header(columns)

    assert names == parse_header(HEADER)
    assert parse_row(b"1,taro,Passw0rd,Taro,Yamada,, ,", names)["last_name"] == "Yamada"


@pytest.mark.parametrize(
    ("data", "error"),
    [
        (b'1,"Taro"x,3', QuoteNotDoubled),
        (b'1,"Taro" ,3', QuoteNotDoubled),
        (b'1,"Taro\n2,Hana\n3,"Ken",3', RowSpansLines),
        (b'1,"Taro\n2,Hana",3,4', RowSpansLines),
    ],
)
def test_text_after_a_closing_quote_is_rejected(data: bytes, error: type[InvalidRow]) -> None:
    with pytest.raises(error):
        parse_row(data, ("a", "b", "c"))


@pytest.mark.parametrize("data", [b"1,2", b"1,2,3,4", b"", b'"1,2,3"'])
def test_cell_count_must_match_the_columns(data: bytes) -> None:
    with pytest.raises(WrongColumnCount):
        parse_row(data, ("a", "b", "c"))


def test_other_encodings_are_named() -> None:
    with pytest.raises(WrongEncoding):
        parse_row("1,山田".encode("cp932"), ("a", "b"))


@given(st.lists(st.lists(TEXTS_OF_CP932, min_size=2, max_size=4), min_size=1, max_size=6), st.integers(1, 40))
def test_cp932_rows_are_found_with_any_trail_bytes(rows: list[list[str]], size: int) -> None:
    """A trail byte may be that of a backslash, a bar or a brace, and never ends a cell or a row."""
    text = io.StringIO(newline="")
    csv.writer(text).writerows(rows)
    data = text.getvalue().encode("cp932")
    names = "abcd"
    found = [
        parse_row(record.data or b"", names[: len(row)], "cp932")
        for record, row in zip(csv_records.records(in_chunks(data, size), MAX_ROW), rows, strict=True)
    ]

    assert [list(row.values()) for row in found] == rows


@given(st.tuples(st.integers(0), st.integers(0), st.integers(0)), st.integers(0))
def test_pointer_is_serialized_as_text(numbers: tuple[int, int, int], repeats: int) -> None:
    pointer = RowPointer(*numbers, repeats)

    assert RowPointer.parse(str(pointer)) == pointer


@pytest.mark.parametrize("text", ["", "1", "1:2", "1:2:x", "1:2:3:4:5", "1:-2:3"])
def test_invalid_pointer_is_rejected(text: str) -> None:
    with pytest.raises(ValueError, match=r"."):
        RowPointer.parse(text)


def test_pointer_is_compact() -> None:
    assert str(RowPointer(17, 1034, 88)) == "17:1034:88"
    assert str(RowPointer(17, 1034, 88, 5)) == "17:1034:88:5"
