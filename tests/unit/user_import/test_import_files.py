"""Initialize's decisions, on moto's S3: the file, the earlier result, and the key of the new one."""

import contextlib
import csv
import dataclasses
import re
import uuid
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, cast

import pytest
from botocore.exceptions import ClientError
from botocore.stub import Stubber

from idempotency import LeaseStore
from tests.unit.user_import.import_world import new_bucket
from user_import.bucket import Bucket, Source
from user_import.connect import Connect
from user_import.creation import Creation
from user_import.csv_file import REQUIRED_COLUMNS, RowPointer
from user_import.errors import (
    InvalidImport,
    InvalidResultFile,
    InvalidRow,
    NoImportFile,
    SecurityProfileNotAllowed,
    SecurityProfileUnknown,
    UnclosedQuote,
    WrongEncoding,
)
from user_import.files import Files
from user_import.imports import Imports
from user_import.instances import AllowedInstances, Instances
from user_import.requests import CountCsvFiles, Plan, RowTask, parse_request
from user_import.results import Outcome, Result, write
from user_import.user import ProfileIds, ProfileNames, listed_names

CSV = b"No.,username,default_password,first_name,last_name\n1,taro,Passw0rd,Taro,Yamada\n"
HOME = Path(__file__).parents[3]
SAMPLE = HOME / "src" / "stepwise" / "cli" / "demo_users.csv"
FAILED = write([Result(1, succeeded=False)])
DEFAULTS = ProfileNames("Agent", "Basic Routing Profile")
ROOT_FILE, ROOT_RESULT = "TestFile_20261121.csv", "UserCreateResult_20261121.csv"


@pytest.fixture
def bucket(bucket: Bucket) -> Bucket:
    """The test's own bucket, with a shared client, because creating one takes longer than a test."""
    return new_bucket(bucket.client, f"users-{uuid.uuid4().hex}")


@pytest.fixture
def imports(bucket: Bucket) -> Imports:
    """Imports without an instance."""
    return Imports(Files(bucket, "TestFile_", 10), Instances(cast(Connect, None), "stepwise", "alias"), DEFAULTS)


def put(imports: Imports, **files: bytes) -> None:
    for key, data in files.items():
        imports.files.bucket.put(key, data, {})


def plan(imports: Imports, **fields: Any) -> Plan:
    return imports.plan(parse_request(fields))


def result_key(imports: Imports, finalized: Plan) -> str:
    return str(imports.count(CountCsvFiles(finalized, None))["result_key"])


def test_import_starts_with_its_own_file(imports: Imports) -> None:
    put(imports, **{ROOT_FILE: CSV, "manual/TestFile_20261122.csv": CSV})

    assert plan(imports).origin == ROOT_FILE
    assert plan(imports, key="manual/TestFile_20261122.csv").origin == "manual/TestFile_20261122.csv"


def test_retry_from_another_file_continues_the_same_import(imports: Imports) -> None:
    later = "manual/TestFile_20261122.csv"
    put(imports, **{later: CSV, ROOT_RESULT: FAILED})
    finalized = plan(imports, key=later, retry_of=ROOT_RESULT)

    assert finalized.source.key == later
    assert finalized.origin == ROOT_FILE
    # So a second retry belongs to the first import, too.
    assert result_key(imports, finalized) == ROOT_RESULT


def test_validation_of_failed_rows_leaves_the_result_unchanged(imports: Imports) -> None:
    put(imports, **{ROOT_FILE: CSV, ROOT_RESULT: FAILED})
    finalized = plan(imports, retry_of=ROOT_RESULT, validate_only=True)

    assert result_key(imports, finalized) == "UserCreateResult_20261121_validate_only.csv"


def test_retry_without_a_key_reads_the_file_of_its_result_not_the_newest(imports: Imports) -> None:
    put(imports, **{ROOT_FILE: CSV, "TestFile_20261122.csv": CSV, ROOT_RESULT: FAILED})

    assert plan(imports, retry_of=ROOT_RESULT).source.key == ROOT_FILE


@pytest.mark.parametrize(
    ("row", "error"),
    [("2,u,Passw0rd,山田,太郎".encode("cp932"), WrongEncoding), (b'2,u,Passw0rd,"Taro,Yamada', UnclosedQuote)],
)
def test_short_file_is_checked_in_full_before_an_instance_is_created(
    imports: Imports, row: bytes, error: type[Exception]
) -> None:
    put(imports, **{ROOT_FILE: CSV + row + b"\n"})

    with pytest.raises(error):
        plan(imports)


def test_long_file_is_cut_at_a_safe_place_and_its_header_is_read(imports: Imports) -> None:
    put(imports, **{ROOT_FILE: CSV + "2,u,Passw0rd,山田,太郎\n".encode() * 1000})

    assert plan(imports).source.key == ROOT_FILE


def test_plan_of_an_earlier_release_has_its_result_beside_its_file(imports: Imports) -> None:
    source = imports.files.bucket.put("manual/TestFile_20261121.csv", CSV, {})

    assert result_key(imports, Plan(source)) == "manual/UserCreateResult_20261121.csv"


@pytest.mark.parametrize("key", ["backup/TestFile_20261121.csv", "/TestFile_20261121.csv", "TestFile_x.csv"])
def test_file_that_would_not_expire_is_not_imported(imports: Imports, key: str) -> None:
    put(imports, **{key: CSV})

    with pytest.raises(InvalidImport, match=r"^key: must"):
        plan(imports, key=key)


@pytest.mark.parametrize(
    "data",
    [b"", FAILED + b'1,1,False,,,"' + b"x" * 140_000 + b'"\r\n'],
    ids=["empty", "a cell too long"],
)
def test_unreadable_result_is_rejected_at_once(imports: Imports, data: bytes) -> None:
    put(imports, **{ROOT_FILE: CSV, ROOT_RESULT: data})

    with pytest.raises(InvalidResultFile, match=r"^retry_of: "):
        plan(imports, retry_of=ROOT_RESULT)


def test_oversized_result_is_not_read(imports: Imports) -> None:
    rows = [Result(number, succeeded=False, error_message="x" * 400) for number in range(1, 10_001)]
    put(imports, **{ROOT_FILE: CSV, ROOT_RESULT: write(rows)})

    with pytest.raises(InvalidResultFile, match="longer than any result file"):
        plan(imports, retry_of=ROOT_RESULT)


def test_denied_object_may_be_missing(bucket: Bucket) -> None:
    with Stubber(bucket.client) as s3:
        s3.add_client_error("get_object", "AccessDenied", http_status_code=403)
        with pytest.raises(NoImportFile, match="not for this function to read"):
            bucket.part(Source("TestFile_20261121.csv", "v"), 0, 1)
        s3.add_client_error("put_object", "AccessDenied", http_status_code=403)
        with pytest.raises(ClientError):
            bucket.put("UserCreateResult_20261121.csv", b"", {})


def test_import_of_an_earlier_release_gives_way(imports: Imports) -> None:
    """A plan of an earlier release has no start time, and its execution can be redriven for two weeks."""
    files, done = imports.files, [Result(1, succeeded=True)]
    files.register(ROOT_RESULT, done, {"import-id": "import-2", "import-began": "2026-11-21T09:00:02+00:00"})
    keys = [write(ROOT_RESULT, done, {"import-id": "import-1"}).key for write in (files.announce, files.register)]

    assert files.bucket.stored(ROOT_RESULT).metadata["import-id"] == "import-2"
    assert ROOT_RESULT not in keys


def test_newer_import_takes_the_key_back(imports: Imports) -> None:
    """An older import's put was in flight when the newer one announced its result."""
    files = imports.files
    older, newer = ({"import-id": f"import-{n}", "import-began": f"2026-11-21T09:00:0{n}+00:00"} for n in (1, 2))
    files.announce(ROOT_RESULT, [], newer)
    files.bucket.put(ROOT_RESULT, FAILED, older)

    assert files.register(ROOT_RESULT, [Result(1, succeeded=True)], newer).key == ROOT_RESULT


def test_reset_is_rejected_unless_the_stack_allows_it(imports: Imports) -> None:
    with pytest.raises(InvalidImport, match=r"^reset: .*AllowReset=true"):
        plan(imports, reset=True)


@pytest.mark.parametrize(
    ("arns", "named", "chosen"),
    [
        ("", None, None),
        ("arn:aws:connect:us-east-1:1:instance/a", None, "a"),
        ("arn:aws:connect:us-east-1:1:instance/a,arn:aws:connect:us-east-1:1:instance/b", "b", "b"),
        ("arn:aws:connect:us-east-1:1:instance/*", None, None),
        ("arn:aws:connect:us-east-1:1:instance/*", "c", "c"),
    ],
)
def test_stack_says_which_instances_an_input_may_name(arns: str, named: str | None, chosen: str | None) -> None:
    assert AllowedInstances.parse(arns).chosen(named) == chosen


@pytest.mark.parametrize("arns", ["", "arn:aws:connect:us-east-1:1:instance/a"])
def test_other_instance_is_rejected_before_connect_is_called(imports: Imports, arns: str) -> None:
    put(imports, **{ROOT_FILE: CSV})
    instances = dataclasses.replace(imports.instances, allowed=AllowedInstances.parse(arns))

    with pytest.raises(InvalidImport, match=r"^instance_id: .*ConnectInstanceArns"):
        plan(dataclasses.replace(imports, instances=instances), instance_id="c")


def validated(bucket: Bucket, profile: str, listed: str, profiles: ProfileIds | None) -> Outcome:
    """The result of a row's validation. listed: the profiles that the stack allows. profiles: of the instance."""
    row = f"1,taro,Passw0rd,Taro,Yamada,{profile}".encode()
    source, columns = bucket.put(ROOT_FILE, row, {}), (*REQUIRED_COLUMNS, "security_profile")
    return validate(bucket, source, columns, RowPointer(1, 0, len(row)), listed, profiles)


def validate(
    bucket: Bucket,
    source: Source,
    columns: tuple[str, ...],
    row: RowPointer,
    listed: str = "",
    profiles: ProfileIds | None = None,
) -> Outcome:
    task = RowTask("i", source, source.key, columns, row, None, profiles, validate_only=True)
    creation = Creation(bucket, cast(Connect, None), cast(LeaseStore, None), DEFAULTS, listed_names(listed))
    return creation.run(task, datetime.now(UTC))


@pytest.mark.parametrize(
    ("listed", "profile", "allowed"),
    [
        ("", "", True),
        ("", "Agent", True),
        ("", "Admin", False),
        ("Admin", "agent", False),
        ("Supervisor, Admin", "Admin", True),
        ("Supervisor", "Agent", True),
    ],
)
def test_row_may_name_only_allowed_security_profiles(bucket: Bucket, listed: str, profile: str, allowed: bool) -> None:
    with contextlib.nullcontext() if allowed else pytest.raises(SecurityProfileNotAllowed):
        assert validated(bucket, profile, listed, None) == Outcome(1)


def test_allowed_security_profile_must_exist(bucket: Bucket) -> None:
    with pytest.raises(SecurityProfileUnknown):
        validated(bucket, "Supervisor", "Supervisor", ProfileIds({"Agent": "a"}, {DEFAULTS.routing: "r"}))


def code_of(bucket: Bucket, source: Source, columns: tuple[str, ...], row: RowPointer) -> str:
    try:
        return validate(bucket, source, columns, row).code
    except InvalidRow as error:
        return type(error).__name__


def test_sample_file_has_valid_and_invalid_rows(bucket: Bucket, imports: Imports) -> None:
    source = bucket.put(ROOT_FILE, SAMPLE.read_bytes(), {})
    rows = dataclasses.replace(imports.files, max_rows=100).count(source, DEFAULTS)
    codes = [code_of(bucket, source, rows.columns, pointer) for pointer in rows.pointers]

    assert {"", "SecurityProfileNotAllowed"} <= set(codes)


def test_sample_file_has_only_reserved_addresses() -> None:
    """Amazon's documents disagree on whether Connect requires one."""
    whole = [row for row in csv.DictReader(SAMPLE.open()) if None not in row.values()]

    assert [row["email"] for row in whole if not re.search("@example([.]com)?$", row["email"])] == []
