"""Outcomes, their sentences, and the result file."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from user_import.csv_file import RowPointer
from user_import.errors import InvalidResultFile
from user_import.files import merged
from user_import.results import (
    COLUMNS,
    NOT_REGISTERED,
    PASSWORD_NOT_SET,
    SENTENCES,
    Outcome,
    Result,
    explained,
    read,
    write,
)
from user_import.retry import Kept

ARN = "arn:aws:connect:us-east-1:000000000000:instance/i-1"
CODES = st.from_regex(r"[A-Za-z0-9_.]{1,40}", fullmatch=True)


@given(st.builds(Outcome, st.integers(1), CODES | st.just(""), st.uuids().map(str) | st.just("")))
def test_outcome_is_serialized_as_text(outcome: Outcome) -> None:
    assert Outcome.parse(str(outcome)) == outcome


def test_error_with_a_colon_in_its_name_is_parsed() -> None:
    assert Outcome.parse("7:odd:name:") == Outcome(7, "odd:name")


@pytest.mark.parametrize("code", SENTENCES)
def test_sentence_starts_with_the_code_and_says_what_to_do(code: str) -> None:
    assert explained(code).startswith(f"{code}: ")
    assert explained(code).endswith(".")
    assert len(explained(code)) < 200


def test_unlisted_error_has_a_sentence_too() -> None:
    assert explained("Some.NewError").startswith("Some.NewError: The row failed")
    assert explained("=cmd|' /C calc'!A0").startswith("Unknown: ")


def test_result_file_has_the_columns_of_the_contract() -> None:
    data = write([Result.of(Outcome(4, user_id="u-1"), ARN), Result.of(Outcome(9, "PhoneInvalid"), ARN)])
    rows = list(csv.reader(io.StringIO(data.decode(), newline="")))

    assert rows == [
        ["No.", "CSVRowNumber", "result", "UserId", "UserArn", "errorMessage"],
        ["1", "4", "Success", "u-1", f"{ARN}/agent/u-1", ""],
        ["2", "9", "False", "", "", explained("PhoneInvalid")],
    ]


def test_success_may_have_a_remark() -> None:
    outcome = Outcome(3, PASSWORD_NOT_SET, "u-1")
    (read_back,) = read(write([Result.of(outcome, ARN)]))

    assert Outcome.parse(str(outcome)) == outcome
    assert (read_back.succeeded, read_back.user_id) == (True, "u-1")
    assert read_back.error_message == explained(PASSWORD_NOT_SET)


@pytest.mark.parametrize("start", ["=", "+", "-", "@", "\t", "\r", "\n"])
def test_no_cell_is_executed_by_a_spreadsheet(start: str) -> None:
    data = write([Result(1, succeeded=False, user_id=f"{start}1+1", error_message=f"{start}cmd")])
    (_, row) = csv.reader(io.StringIO(data.decode(), newline=""))

    assert row[3] == f"'{start}1+1"
    assert row[5] == f"'{start}cmd"


@given(st.lists(st.builds(Outcome, st.integers(1, 99), CODES | st.just(""), st.just("")), max_size=5))
def test_result_file_is_read_back(outcomes: list[Outcome]) -> None:
    results = [Result.of(outcome, ARN) for outcome in outcomes]

    assert read(write(results)) == results


def test_result_file_saved_by_a_spreadsheet_is_read_back() -> None:
    saved = b"\xef\xbb\xbf" + ",".join(COLUMNS).encode() + b"\r\n1,1,SUCCESS,u,a,\r\n2,2,FALSE,,,x\r\n\r\n"

    assert [result.succeeded for result in read(saved)] == [True, False]


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"No.,username\n1,taro\n",
        b"\xff\xfe",
        ",".join(COLUMNS).encode() + b"\n1,1,Maybe,,,\n",
        ",".join(COLUMNS).encode() + b"\n1,x,Success,,,\n",
        ",".join(COLUMNS).encode() + b"\n1,1,Success\n",
        ",".join(COLUMNS).encode() + b"\n1,1,False,,," + b"x" * 140_000,
    ],
)
def test_invalid_result_file_is_rejected(data: bytes) -> None:
    with pytest.raises(InvalidResultFile, match=r"^retry_of: "):
        read(data)


def pointers(*numbers: int) -> list[RowPointer]:
    return [RowPointer(number, number * 10, 9) for number in numbers]


def test_every_row_has_one_result() -> None:
    results = merged(pointers(1, 2, 3), [Outcome(3, "UserExists"), Outcome(1, user_id="u-1")], [], [], ARN)

    assert [result.csv_row for result in results] == [1, 2, 3]
    assert results[0].user_arn == f"{ARN}/agent/u-1"
    assert results[1].error_message == explained(NOT_REGISTERED)
    assert results[2].error_message == explained("UserExists")


def test_row_keeps_a_result_under_its_own_number() -> None:
    earlier = [Result(1, succeeded=True, user_id="u-1"), Result(2, succeeded=False), Result(3, succeeded=False)]
    results = merged(pointers(1, 3), [Outcome(1, user_id="u-2")], earlier, [Kept(2, 1)], ARN)

    assert [(result.csv_row, result.user_id) for result in results] == [(1, "u-2"), (2, "u-1"), (3, "")]


def test_row_without_a_result_has_an_unknown_outcome() -> None:
    """It belongs to an execution of an earlier release, whose state data does not name kept rows."""
    earlier = [Result(1, succeeded=True, user_id="u-1"), Result(2, succeeded=False)]
    results = merged(pointers(2), [Outcome(2, user_id="u-2")], earlier, [], ARN, unnamed=[1, 2])

    assert [result.error_message for result in results] == [explained(NOT_REGISTERED), ""]
