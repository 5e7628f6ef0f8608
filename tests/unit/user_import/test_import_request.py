"""The workflow's input: an error names the field, and nothing starts."""

from typing import Any

import pytest

from user_import.bucket import date_in_name
from user_import.errors import InvalidImport
from user_import.requests import ImportRequest, parse_request
from user_import.results import ResultKey
from user_import.uploads import execution_name

RESULT = "manual/UserCreateResult_20261121.csv"
VALIDATION = "manual/UserCreateResult_20261121_validate_only.csv"


def test_empty_input_is_valid() -> None:
    assert parse_request({}) == ImportRequest()


def test_every_field_is_read() -> None:
    document = {"key": "TestFile_20261121.csv", "version_id": "v", "instance_id": "i-1", "validate_only": True}

    assert parse_request(document) == ImportRequest("TestFile_20261121.csv", "v", "i-1", validate_only=True)
    assert [parse_request({"encoding": one}).encoding for one in ("utf-8", "cp932")] == ["utf-8", "cp932"]
    assert parse_request({"retry_of": RESULT}).retried == ResultKey("manual/", "20261121", validate_only=False)
    assert parse_request({"reset": True}).reset


@pytest.mark.parametrize(
    ("document", "field"),
    [
        ([], "the input"),
        ("x", "the input"),
        (None, "the input"),
        ({"keys": "x"}, "keys"),
        ({"key": 7}, "key"),
        ({"key": ""}, "key"),
        ({"key": "a\nb"}, "key"),
        ({"key": "manual/\ud800/TestFile_20261121.csv"}, "key"),
        ({"retry_of": f"\udfff/{RESULT}"}, "retry_of"),
        ({"version_id": "v"}, "version_id"),
        ({"key": "k", "version_id": "v w"}, "version_id"),
        ({"instance_id": "i/../j"}, "instance_id"),
        ({"instance_id": "i-1\n"}, "instance_id"),
        ({"validate_only": "yes"}, "validate_only"),
        ({"validate_only": 1}, "validate_only"),
        ({"retry_of": ["a"]}, "retry_of"),
        ({"retry_of": "result.csv"}, "retry_of"),
        ({"retry_of": "TestFile_20261121.csv"}, "retry_of"),
        ({"retry_of": "UserCreateResult_20261131.csv"}, "retry_of"),
        ({"retry_of": "MyUserCreateResult_20261121.csv"}, "retry_of"),
        ({"retry_of": "UserCreateResult_20261121_old.csv"}, "retry_of"),
        ({"retry_of": "_validate_only.csv"}, "retry_of"),
        ({"retry_of": VALIDATION}, "retry_of"),
        ({"encoding": "UTF-8"}, "encoding: must be utf-8 or cp932"),
        ({"encoding": 932}, "encoding: must be utf-8 or cp932"),
        ({"encoding": ["cp932"]}, "encoding: must be utf-8 or cp932"),
        ({"reset": "true"}, "reset"),
        ({"reset": True, "instance_id": "i-1"}, "reset"),
        ({"reset": True, "validate_only": True}, "reset"),
        ({"reset": True, "retry_of": RESULT}, "reset"),
        ({"\ud800": 1}, "the input"),
    ],
)
def test_malformed_variable_is_named(document: Any, field: str) -> None:
    with pytest.raises(InvalidImport, match=rf"^{field}(: |$)"):
        parse_request(document)


def test_failed_rows_of_a_validation_may_be_validated_again() -> None:
    assert parse_request({"retry_of": VALIDATION, "validate_only": True}).retried is not None


@pytest.mark.parametrize(
    "key",
    [
        RESULT,
        VALIDATION,
        "UserCreateResult_20261121.csv",
        "manual/a_of_b/UserCreateResult_20261121_of_manual-1.csv",
        "UserCreateResult_20261121_validate_only_of_a_of_b.csv",
    ],
)
def test_result_key_is_written_as_it_is_read(key: str) -> None:
    assert str(ResultKey.parse(key)) == key


@pytest.mark.parametrize(
    ("key", "date"),
    [
        ("TestFile_20261121.csv", "20261121"),
        ("manual/TestFile_20261121.csv", "20261121"),
        ("TestFile_20240229.csv", "20240229"),
        ("TestFile_20260229.csv", None),
        ("TestFile_20261131.csv", None),
        ("TestFile_2026112.csv", None),
        ("TestFile_20261121.CSV", None),
        ("TestFile_20261121.csv.bak", None),
        ("TestFile_20261121 (1).csv", None),
        ("TestFile_２０２６１１２１.csv", None),
        ("MyTestFile_20261121.csv", None),
        ("UserCreateResult_20261121.csv", None),
        ("TestFile_20261121.csv\n", None),
    ],
)
def test_file_is_identified_by_the_date_in_its_name(key: str, date: str | None) -> None:
    assert date_in_name(key, "TestFile_") == date


def test_name_of_an_execution_derives_from_the_upload() -> None:
    name = execution_name("bucket", "TestFile_20261121.csv", "v1", "20261121")

    assert name == execution_name("bucket", "TestFile_20261121.csv", "v1", "20261121")
    assert name.startswith("upload-20261121-")
    assert len(name) <= 80
    assert execution_name("bucket", "TestFile_20261121.csv", "v2", "20261121") != name
