"""Files from spreadsheets, and damaged ones: empty rows and columns, wrong quotes, other formats, any names."""

import dataclasses
import itertools
from typing import Any

import pytest

from imports import codes
from imports.errors import InvalidImport, TooManyRows
from imports.loading import MAX_ROWS
from imports.state import LAST_ROW
from tests.kit.import_world import TENANT, ImportWorld

HEADER = "code,name,category,price,currency\n"
BLANKS = [",,,,", " , ,\t,,", '"","",,,', "\u3000,\u200b,,,", "\xa0,,,,,,"]
both_modes = pytest.mark.parametrize("mode", ["DIRECT", "STEP_FUNCTION"])


def row(number: int, price: object = 1) -> str:
    return f"p{number},n,tea,{price},JPY\n"


def imported(world: ImportWorld, content: str | bytes | None, mode: str, **fields: Any) -> str:
    if mode == "STEP_FUNCTION":
        return world.run(content, **fields)
    return world.create(content, processing_mode=mode, **fields)


def refused(world: ImportWorld, content: str | bytes, mode: str = "DIRECT", **fields: Any) -> Any:
    made = world.row(imported(world, content, mode, **fields))
    assert (made["status"], world.versions()) == ("FAILED", {})
    return made["error"]


# Rows of empty cells.


@both_modes
@pytest.mark.parametrize("blank", BLANKS)
def test_row_of_empty_cells_keeps_its_number_and_is_never_counted(world: ImportWorld, mode: str, blank: str) -> None:
    import_id = imported(world, HEADER + f"{blank}\n" + row(2) + f"\n{blank}\n" + row(4, "x") + f"{blank}\n", mode)

    assert world.counts(import_id) == (2, 1, 1, 0)
    assert [one[0] for one in world.result(import_id, "succeeded")] == ["2"]
    assert [one[0] for one in world.result(import_id, "failed")] == ["4"]
    assert world.result(import_id, "unprocessed") == []


@both_modes
def test_file_of_empty_rows_equals_a_file_with_only_a_header(world: ImportWorld, mode: str) -> None:
    made = world.row(imported(world, HEADER + ",,,,\n" * 3000, mode))

    assert (made["status"], made["total_rows"], made.get("error")) == ("COMPLETED", 0, None)


def test_empty_rows_do_not_make_an_import_too_large(world: ImportWorld) -> None:
    import_id = world.create(HEADER + ",,,,\n" * 3000 + row(3001))

    assert (world.row(import_id)["processing_mode"], world.counts(import_id)) == ("DIRECT", (1, 1, 0, 0))
    assert world.result(import_id, "succeeded")[0][0] == "3001"
    with pytest.raises(TooManyRows):
        world.create(HEADER + ",,,,\n" + "".join(map(row, range(1001))), processing_mode="DIRECT")
    assert MAX_ROWS > 1_048_576, "a sheet of empty rows must fit"


@pytest.mark.slow
@both_modes
def test_batches_are_finalized_over_gaps(world: ImportWorld, mode: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The second batch of three leaves no record."""
    content = HEADER + "".join(",,,,\n" if number % 10 == 0 else row(number) for number in range(1, 301))
    record = world.table.record
    calls = itertools.count()
    monkeypatch.setattr(
        "imports.table.ImportsTable.record",
        lambda _, *given: False if not given[1].barred and next(calls) == 1 else record(*given),
    )
    wanted = [str(number) for number in range(1, 301) if number % 10]
    import_id = imported(world, content, mode)

    assert world.counts(import_id) == (270, 270, 0, 0)
    assert [one[0] for one in world.result(import_id, "succeeded")] == wanted


@both_modes
@pytest.mark.slow
def test_rows_over_gaps_that_never_ran_are_listed_by_their_numbers(world: ImportWorld, mode: str) -> None:
    content = HEADER + ",,,,\n" + "".join(row(number) for number in range(2, 200)) + ",,,,\n"
    import_id = world.create(content, processing_mode="STEP_FUNCTION")
    world.load(import_id)
    world.batch(import_id, 102)

    assert world.cut_off(import_id) == "COMPLETED_WITH_FAILURES"
    assert [one[0] for one in world.result(import_id, "unprocessed")] == [str(number) for number in range(2, 102)]
    retry = imported(world, world.text(import_id, "unprocessed") + ",,,,,\n", mode, retry_of=import_id)
    assert (world.row(retry)["status"], world.counts(retry)) == ("COMPLETED", (100, 100, 0, 0))
    assert set(world.versions().values()) == {1}


@both_modes
def test_duplicate_check_and_check_of_all_rows_handle_gaps(world: ImportWorld, mode: str) -> None:
    content = HEADER + row(1) + ",,,,\n" + row(3) + ",,,,\n" + row(1)
    options = {"all_or_nothing_validation": True}
    import_id = imported(world, content, mode, options=options)

    assert [one[:2] for one in world.result(import_id, "failed")] == [["1", "DuplicateKey"], ["5", "DuplicateKey"]]
    assert [one[0] for one in world.result(import_id, "unprocessed")] == ["3"]


@both_modes
def test_import_of_an_earlier_release_is_retried_by_its_own_numbers(
    world: ImportWorld, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In that release, a row of empty cells was a failed row."""
    content = HEADER + row(1) + ",,,,\n" + row(3, "x")
    with monkeypatch.context() as patch:
        patch.setattr("imports.loading.is_blank_row", lambda *_: False)
        first = imported(world, content, mode)
    assert world.counts(first) == (3, 1, 2, 0)

    again = imported(world, None, mode, retry_of=first)
    assert (world.counts(again), [one[0] for one in world.result(again, "failed")]) == ((2, 1, 1, 0), ["3"])
    failed = world.text(again, "failed")
    # The row was listed, so a corrected file may fill it in.
    filled = failed.replace(",x,", ",3,") + "2,,,," + row(2)
    last = imported(world, filled, mode, retry_of=again)
    assert [one[0] for one in world.result(last, "succeeded")] == ["3", "2"]
    assert world.versions() == {"p1": 1, "p2": 1, "p3": 1}


@both_modes
def test_import_read_by_an_earlier_release_is_finalized_by_its_numbers(
    world: ImportWorld, mode: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = HEADER + row(1) + ",,,,\n" + row(3)
    with monkeypatch.context() as patch:
        patch.setattr("imports.loading.is_blank_row", lambda *_: False)
        import_id = world.create(content, processing_mode="STEP_FUNCTION")
        world.load(import_id)
    made = world.made(import_id)
    values = {name: value for name, value in made.values.items() if name != LAST_ROW} | {"processing_mode": mode}
    world.finalization.finish(dataclasses.replace(made, values=values), world.now)

    assert world.counts(import_id) == (3, 0, 0, 3)
    assert [one[0] for one in world.result(import_id, "unprocessed")] == ["1", "2", "3"]


# Empty columns.


@both_modes
@pytest.mark.parametrize("end", [",", ",,,", ', ,"",\u3000'])
def test_trailing_empty_columns_are_ignored(world: ImportWorld, mode: str, end: str) -> None:
    content = "".join(f"{line}{end}\n" for line in (HEADER + row(1) + row(2, "x")).splitlines())
    import_id = imported(world, content, mode)

    assert world.counts(import_id) == (2, 1, 1, 0)
    assert world.text(import_id, "failed").splitlines()[0].endswith(",currency")
    assert world.result(import_id, "failed")[0][4:] == ["p2", "n", "tea", "x", "JPY"]


def test_cells_beyond_the_header_must_be_empty(world: ImportWorld) -> None:
    import_id = world.run(HEADER + "p1,n,tea,1,JPY,,\np2,n,tea,1,JPY,,x\np3,n,tea\n")

    assert [(one[0], one[1]) for one in world.result(import_id, "failed")] == [("2", "RaggedRow"), ("3", "RaggedRow")]
    messages = [one[3] for one in world.result(import_id, "failed")]
    assert messages[0] == "The row has 7 cells, the header has 5. Quote a cell that has a comma."
    assert messages[1] == "The row has 3 cells, the header has 5. Add the cells that are missing."


# Quotes.


@both_modes
@pytest.mark.parametrize("options", [{}, {"all_or_nothing_validation": True}, {"duplicates": "last"}])
@pytest.mark.parametrize("tail", ["", "x" * codes.MAX_ROW, ",,,,\n" * 20_000], ids=["short", "long", "many lines"])
def test_unclosed_quote_refuses_the_file(world: ImportWorld, mode: str, options: dict[str, Any], tail: str) -> None:
    content = HEADER + row(1) + ",,,,\n" + 'p3,"Tea,tea,1,JPY\n' + row(4) + row(5) + tail
    error = refused(world, content, mode, options=options)

    assert (error["code"], error["column"]) == ("UnclosedQuote", "")
    assert error["message"].startswith("Row 3 opens a quote that is never closed")


def test_quote_opened_in_the_header_or_a_corrected_row_is_never_closed(world: ImportWorld) -> None:
    assert refused(world, f'"code,{HEADER}{row(1)}')["message"].startswith("The header opens a quote")
    first = world.run(HEADER + row(1, "x") + row(2, "x"))
    failed = world.text(first, "failed").replace(",n,", ',"n,', 1)
    assert refused(world, failed, retry_of=first)["code"] == "UnclosedQuote"


def test_unclosed_quote_in_an_earlier_release_does_not_stop_its_retry(
    world: ImportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The last row of the first file had an open quote, and failed. A corrected file names it, and the previous one."""
    with monkeypatch.context() as patch:
        patch.setattr("imports.loading.unclosed_quote", lambda _: None)
        patch.setattr("imports.loading.Reader.see", _see_open)
        first = world.run(HEADER + row(1, "x") + 'p2,"n,tea,1,JPY\n' + row(3))
    assert world.counts(first) == (2, 0, 2, 0)

    retry = world.run(f"row,{HEADER}1,{row(9)}2,{row(2)}", retry_of=first)
    assert [one[:3] for one in world.result(retry, "failed")] == [["1", "NotAllowed", "code"]]
    assert world.versions() == {"p2": 1}


def _see_open(reader: Any, layout: Any, place: Any) -> None:
    position, record = place
    reader.rows, reader.last = reader.rows + 1, position
    reader.keys.put(position, layout.key_cell(record.data))


@both_modes
@pytest.mark.parametrize(
    ("bad", "sentence", "cells"),
    [
        ('"p1"  ,n,tea,1,JPY', "Cell 1 has a space after its closing quote. Remove the space.", ["p1", "n"]),
        ('p1,"abc"def,tea,1,JPY', "Cell 2 has text after its closing quote.", ["p1", '"abc"def']),
        (
            'p1,"Tea,tea,1,JPY\np2,"Milk",tea,1,JPY',
            "Cell 2 spans 2 lines of the file",
            ["p1", '"Tea,tea,1,JPY\np2,"Milk"'],
        ),
        ('p1,"n\n\n\n",TEA,1,JPY', "Cell 2 spans 4 lines of the file", ["p1", "n\n\n\n"]),
    ],
)
def test_row_with_a_misplaced_quote_says_where_and_is_shown(
    world: ImportWorld, mode: str, bad: str, sentence: str, cells: list[str]
) -> None:
    import_id = imported(world, f"{HEADER}{bad}\n{row(8)}", mode)
    (failed,) = world.result(import_id, "failed")

    assert sentence in failed[3]
    assert failed[4:6] == cells
    assert world.versions() == {"p8": 1}


@both_modes
def test_long_row_that_swallows_others_is_reported(world: ImportWorld, mode: str) -> None:
    swallowed = "".join(map(row, range(5000)))
    import_id = imported(world, f'{HEADER}p1,"n,tea,1,JPY\n{swallowed}p2,n",tea,1,JPY\n{row(8)}', mode)
    (failed,) = world.result(import_id, "failed")

    assert failed[:2] == ["1", "RowTooLong"]
    assert "The row spans 5002 lines of the file" in failed[3]
    assert world.counts(import_id) == (2, 1, 1, 0)


# Files that are not CSV.


@both_modes
@pytest.mark.parametrize(
    ("content", "code", "column", "what"),
    [
        (b"", "NotCsv", "", "the file has no bytes"),
        (b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml" + b"\xff" * 50, "NotCsv", "", "an Excel workbook"),
        ((HEADER + row(1)).encode("utf-16"), "NotUtf8", "", "UTF-16"),
        (HEADER.replace(",", ";") + row(1), "MissingColumn", "code", "one column; the separator looks like `;`"),
        (f'"{HEADER[:-1]}"\n"{row(1)[:-1]}"\n', "MissingColumn", "code", "a quote before and after the whole line"),
        # A quote closed by the next row: the text inside is not a column name.
        ('code,"name,category\np1,"s3cret",tea\n', "UnknownColumn", "", "Cell 2 spans 2 lines of the file"),
        ('code,"name,category\np1,s3cret",tea\n', "MissingColumn", "name", "Cell 2 spans 2 lines of the file"),
        (f'{HEADER[:-1]},"x\np1,s3cret"\n', "UnknownColumn", "", "Cell 6 spans 2 lines of the file"),
        ("sep=;\n" + HEADER, "MissingColumn", "code", "`sep=;`"),
        (HEADER.upper() + row(1), "MissingColumn", "code", 'column 1 is "CODE"'),
        ("\u200b" + HEADER + row(1), "MissingColumn", "code", r'column 1 is "\u200bcode"'),
        (",,,,\n" + HEADER, "MissingColumn", "code", "its cells are empty"),
        ("p1,taro,s3cret\n", "MissingColumn", "code", "but 3 others"),
        ("code,,name,category,price,currency\n", "UnknownColumn", "", "Column 2 of the header has no name"),
        (HEADER[:-1] + ",colo\u202eur\n", "UnknownColumn", r"colo\u202eur", r'Column 6 of the header, "colo\u202eur"'),
        (HEADER[:-1] + ",name\n", "UnknownColumn", "name", 'Column 6 of the header is "name", as is column 2'),
        ('"code"x,name,category,price,currency\n', "UnknownColumn", '"code"x', "Cell 1 has text after its closing"),
    ],
)
def test_refusal_describes_the_finding(
    world: ImportWorld, mode: str, content: str | bytes, code: str, column: str, what: str
) -> None:
    error = refused(world, content, mode)

    assert (error["code"], error["column"]) == (code, column)
    assert what in error["message"]
    assert "s3cret" not in error["message"]


# Names of files, and of the columns of failed.csv.


def uploaded(world: ImportWorld, key: str) -> dict[str, str]:
    return world.ask(
        {"detail": {"bucket": {"name": "b"}, "object": {"key": key, "version-id": world.files.source(key).version_id}}}
    )


@pytest.mark.parametrize("name", ["PRODUCTS.CSV", "products.Csv", "a/b.csv"])
def test_upload_in_any_case_starts_an_import(world: ImportWorld, name: str) -> None:
    key = world.upload(HEADER + row(1), f"imports/{TENANT}/PRODUCT/{name}")

    assert uploaded(world, key)["status"] == "COMPLETED"


@pytest.mark.parametrize("name", ["A.ZIP", "a.Zip"])
def test_zip_in_any_case_is_a_zip(world: ImportWorld, name: str) -> None:
    import_id = world.create(key=world.upload(b"PK", f"files/{name}"))

    assert world.made(import_id).zip
    with pytest.raises(InvalidImport, match=r"^processing_mode: a ZIP"):
        world.create(key=f"files/{name}", processing_mode="DIRECT")


@pytest.mark.parametrize(
    "key",
    [
        f"imports/{TENANT}/PRODUCT/products.txt",
        f"imports/{TENANT}/PRODUCT/products.csv ",
        f"imports/{TENANT}/PRODUCT/",
        f"imports/{TENANT}/products.csv",
        f"imports/{TENANT}/UNKNOWN/products.csv",
        f"imports/{TENANT}/product/products.csv",
        "imports/no tenant!/PRODUCT/products.csv",
        "imports/products.csv",
        "imports/",
    ],
)
def test_unmatched_upload_fails(world: ImportWorld, key: str) -> None:
    """Lambda sends its event to the failure queue."""
    world.upload(HEADER + row(1), key)

    with pytest.raises(InvalidImport):
        uploaded(world, key)
    assert world.inserted() == []


@pytest.mark.parametrize("names", ["error_code,error_column,error_message", "code,column,message"])
def test_failed_csv_of_this_and_an_earlier_release_is_retried(world: ImportWorld, names: str) -> None:
    first = world.run(HEADER + row(1) + row(2, "x"))
    failed = world.text(first, "failed")
    assert failed.splitlines()[0] == f"row,error_code,error_column,error_message,{HEADER.strip()}"

    corrected = failed.replace("error_code,error_column,error_message", names).replace(",x,", ",2,")
    assert world.counts(world.run(corrected, retry_of=first)) == (1, 1, 0, 0)
    assert world.versions() == {"p1": 1, "p2": 1}
