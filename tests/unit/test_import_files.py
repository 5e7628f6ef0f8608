"""What Initialize settles, on S3 as moto has it: which file, which earlier result, and where the new one belongs."""

from collections.abc import Iterator
from typing import Any, cast

import boto3
import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber
from moto import mock_aws

from users.bucket import Bucket, Source
from users.errors import InvalidImport, InvalidResultFile, NoImportFile, UnclosedQuote, WrongEncoding
from users.files import Files
from users.imports import Imports
from users.instances import Instances
from users.profiles import ProfileNames
from users.request import parse_request
from users.results import Result, write
from users.tasks import CountCsvFiles, Plan

CSV = b"No.,username,default_password,first_name,last_name\n1,taro,Passw0rd,Taro,Yamada\n"
FAILED = write([Result(1, succeeded=False)])
ROOT_FILE, ROOT_RESULT = "TestFile_20261121.csv", "UserCreateResult_20261121.csv"


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"):
        monkeypatch.setenv(name, "test")
    with mock_aws():
        client = boto3.client("s3", region_name="us-east-1")
        client.create_bucket(Bucket="users")
        client.put_bucket_versioning(Bucket="users", VersioningConfiguration={"Status": "Enabled"})
        yield Bucket(client, "users")


@pytest.fixture
def imports(bucket: Bucket) -> Imports:
    """Without an instance: none is given, none is deleted."""
    files = Files(bucket, "TestFile_", 10)
    return Imports(files, cast(Instances, None), ProfileNames("Agent", "Basic Routing Profile"))


def put(imports: Imports, **files: bytes) -> None:
    for key, data in files.items():
        imports.files.bucket.put(key, data, {})


def plan(imports: Imports, **fields: Any) -> Plan:
    return imports.plan(parse_request(fields))


def result_key(imports: Imports, settled: Plan) -> str:
    return str(imports.count(CountCsvFiles(settled, None))["result_key"])


def test_an_import_begins_with_its_own_file(imports: Imports) -> None:
    put(imports, **{ROOT_FILE: CSV, "manual/TestFile_20261122.csv": CSV})

    assert plan(imports).origin == ROOT_FILE
    assert plan(imports, key="manual/TestFile_20261122.csv").origin == "manual/TestFile_20261122.csv"


def test_a_retry_goes_on_with_the_import_that_it_is_of_whatever_file_it_has(imports: Imports) -> None:
    later = "manual/TestFile_20261122.csv"
    put(imports, **{later: CSV, ROOT_RESULT: FAILED})
    settled = plan(imports, key=later, retry_of=ROOT_RESULT)

    assert settled.source.key == later
    assert settled.origin == ROOT_FILE
    # So a retry of the retry is one of the first import as well.
    assert result_key(imports, settled) == ROOT_RESULT


def test_a_validation_of_failed_rows_leaves_the_result_as_it_is(imports: Imports) -> None:
    put(imports, **{ROOT_FILE: CSV, ROOT_RESULT: FAILED})
    settled = plan(imports, retry_of=ROOT_RESULT, validate_only=True)

    assert result_key(imports, settled) == "UserCreateResult_20261121_validate_only.csv"


def test_a_retry_without_a_key_has_the_file_of_its_result_and_not_the_newest(imports: Imports) -> None:
    put(imports, **{ROOT_FILE: CSV, "TestFile_20261122.csv": CSV, ROOT_RESULT: FAILED})

    assert plan(imports, retry_of=ROOT_RESULT).source.key == ROOT_FILE


@pytest.mark.parametrize(
    ("row", "error"),
    [("2,u,Passw0rd,山田,太郎".encode("cp932"), WrongEncoding), (b'2,u,Passw0rd,"Taro,Yamada', UnclosedQuote)],
)
def test_a_short_file_is_checked_whole_before_an_instance_is_created(
    imports: Imports, row: bytes, error: type[Exception]
) -> None:
    put(imports, **{ROOT_FILE: CSV + row + b"\n"})

    with pytest.raises(error):
        plan(imports)


def test_a_long_file_is_cut_off_where_it_may_be_and_its_header_is_read(imports: Imports) -> None:
    put(imports, **{ROOT_FILE: CSV + "2,u,Passw0rd,山田,太郎\n".encode() * 1000})

    assert plan(imports).source.key == ROOT_FILE


def test_a_plan_of_before_has_its_result_beside_its_file(imports: Imports) -> None:
    source = imports.files.bucket.put("manual/TestFile_20261121.csv", CSV, {})

    assert result_key(imports, Plan(source)) == "manual/UserCreateResult_20261121.csv"


@pytest.mark.parametrize("key", ["backup/TestFile_20261121.csv", "/TestFile_20261121.csv", "TestFile_x.csv"])
def test_a_file_that_would_not_expire_is_not_imported(imports: Imports, key: str) -> None:
    put(imports, **{key: CSV})

    with pytest.raises(InvalidImport, match=r"^key: must"):
        plan(imports, key=key)


@pytest.mark.parametrize(
    "data",
    [b"", FAILED + b'1,1,False,,,"' + b"x" * 140_000 + b'"\r\n'],
    ids=["empty", "a cell too long"],
)
def test_a_result_that_cannot_be_read_is_refused_at_once(imports: Imports, data: bytes) -> None:
    put(imports, **{ROOT_FILE: CSV, ROOT_RESULT: data})

    with pytest.raises(InvalidResultFile, match=r"^retry_of: "):
        plan(imports, retry_of=ROOT_RESULT)


def test_a_result_that_is_longer_than_any_is_not_read_whole(imports: Imports) -> None:
    rows = [Result(number, succeeded=False, error_message="x" * 400) for number in range(1, 10_001)]
    put(imports, **{ROOT_FILE: CSV, ROOT_RESULT: write(rows)})

    with pytest.raises(InvalidResultFile, match="longer than any result file"):
        plan(imports, retry_of=ROOT_RESULT)


def test_what_s3_denies_to_a_reader_may_not_be_there(bucket: Bucket) -> None:
    with Stubber(bucket.client) as s3:
        s3.add_client_error("get_object", "AccessDenied", http_status_code=403)
        with pytest.raises(NoImportFile, match="not for this function to read"):
            bucket.part(Source("TestFile_20261121.csv", "v"), 0, 1)
        s3.add_client_error("put_object", "AccessDenied", http_status_code=403)
        with pytest.raises(ClientError):
            bucket.put("UserCreateResult_20261121.csv", b"", {})
