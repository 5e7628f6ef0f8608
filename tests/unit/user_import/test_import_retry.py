"""Retries and concurrent imports: a successful row has its own user, wherever it is in any file."""

from dataclasses import replace
from itertools import permutations
from typing import Any

import pytest

from tests.unit.user_import.import_world import HEADER, KEY, RESULT, Row, World
from user_import.errors import ImportRefused, InvalidHeader, InvalidImport, InvalidResultFile, UnclosedQuote
from user_import.results import PASSWORD_NOT_SET, Result, write

ANN, BOB, CAT = Row("ann"), Row("bob"), Row("cat")
BROKEN = replace(BOB, password="short")
# A person's edits of a file of ANN, BROKEN and CAT before its failed rows run again.
CORRECTED: dict[str, list[Row]] = {
    "unchanged": [ANN, BOB, CAT],
    "turned": [CAT, ANN, BOB],
    **{f"still broken at {rows.index(BROKEN)}": list(rows) for rows in permutations([ANN, BROKEN, CAT])},
    "a new password": [ANN, BOB, replace(CAT, password="Passw0rd-2")],
    "a new last name": [ANN, BOB, replace(CAT, last_name="Sato")],
    "names swapped": [replace(CAT, last_name="Ueda"), BOB, ANN],
    "a user replaced": [Row("dan"), ANN, BOB],
    "a row twice": [CAT, ANN, ANN],
    "a name twice": [CAT, replace(ANN, password="Passw0rd-2"), ANN],
}


def check(world: World, rows: list[Row], results: list[Result]) -> None:
    """Check the invariant: one result for each row, and a success is the row's own user, or names the difference."""
    users = world.users
    assert [result.csv_row for result in results] == list(range(1, len(rows) + 1))
    ids = [result.user_id for result in results if result.succeeded]
    assert len(set(ids)) == len(ids)
    for row, result in zip(rows, results, strict=True):
        if result.succeeded:
            user = users[result.user_id]
            assert (user["Username"], user["IdentityInfo"]["LastName"]) == (row.username, row.last_name)
            if world.passwords.setdefault(result.user_id, row.password) != row.password:
                assert result.error_message.startswith(PASSWORD_NOT_SET)


def codes(world: World, key: str = RESULT) -> list[str]:
    return [result.error_message.partition(":")[0] for result in world.results(key)]


@pytest.mark.slow
@pytest.mark.parametrize("rows", CORRECTED.values(), ids=CORRECTED)
def test_retry_never_gives_a_row_another_rows_user(world: World, rows: list[Row]) -> None:
    before = [ANN, BROKEN, CAT]
    world.upload(*before)
    world.run(key=KEY)
    check(world, before, world.results())
    world.upload(*rows)
    first = world.run(key=KEY, retry_of=RESULT)
    check(world, rows, world.results())
    # A second retry, without changes, runs only the failed rows.
    again = world.run(key=KEY, retry_of=RESULT)
    check(world, rows, world.results())

    assert (again["rows"], again["run"]) == (3, first["failed"])
    names = [row.username for row in rows]
    fresh = [row not in (ANN, CAT) or row.username in names[:number] for number, row in enumerate(rows)]
    assert first["run"] == sum(fresh)


def test_only_unsuccessful_rows_run_again(world: World) -> None:
    world.upload(ANN, BROKEN, CAT)
    world.run(key=KEY)
    kept = {result.user_id for result in world.results()} - {""}
    world.upload(CAT, BOB, ANN)
    summary = world.run(key=KEY, retry_of=RESULT)

    assert (summary["run"], summary["succeeded"]) == (1, 3)
    assert codes(world) == ["", "", ""]
    assert kept < {result.user_id for result in world.results()}


def test_new_password_is_reported_as_not_set(world: World) -> None:
    world.upload(ANN, BROKEN)
    world.run(key=KEY)
    world.upload(replace(ANN, password="Passw0rd-2"), BOB)
    world.run(key=KEY, retry_of=RESULT)

    assert codes(world) == [PASSWORD_NOT_SET, ""]
    assert [result.succeeded for result in world.results()] == [True, True]


def without_note(world: World) -> None:
    world.bucket.put(RESULT, write(world.results()), {})


def without_file(world: World) -> None:
    versions = world.bucket.client.list_object_versions(Bucket=world.bucket.name, Prefix=KEY)["Versions"]
    for version in versions:
        world.bucket.client.delete_object(Bucket=world.bucket.name, Key=KEY, VersionId=version["VersionId"])


@pytest.mark.slow
@pytest.mark.parametrize("forget", [without_note, without_file])
def test_every_row_runs_if_the_source_of_the_result_is_unknown(world: World, forget: Any) -> None:
    world.upload(ANN, BROKEN, CAT)
    world.run(key=KEY)
    before = world.results()
    forget(world)
    world.upload(CAT, BOB, ANN)
    summary = world.run(key=KEY, retry_of=RESULT)

    assert (summary["run"], summary["succeeded"]) == (3, 3)
    check(world, [CAT, BOB, ANN], world.results())
    assert world.results()[2].user_id == before[0].user_id


def test_result_does_not_apply_to_another_instance(world: World) -> None:
    world.upload(ANN)
    world.run(key=KEY)
    other = replace(world, instance_id=world.simulator.instance(InstanceAlias="other"))
    other.run(key=KEY, retry_of=RESULT)

    check(other, [ANN], other.results())


def test_retry_of_a_result_in_another_folder_names_its_field(world: World) -> None:
    with pytest.raises(InvalidImport, match=r"^retry_of: "):
        world.run(retry_of=f"other/{RESULT}")


def test_retry_with_rows_added_is_rejected(world: World) -> None:
    world.upload(ANN)
    world.run(key=KEY)
    world.upload(ANN, BOB)

    with pytest.raises(InvalidResultFile, match="has 1 rows, the file has 2"):
        world.run(key=KEY, retry_of=RESULT)


def test_only_new_rows_are_validated_again(world: World) -> None:
    validation = "UserCreateResult_20261121_validate_only.csv"
    world.upload(ANN, BROKEN, CAT)
    world.run(key=KEY, validate_only=True)
    world.upload(CAT, ANN, replace(BROKEN, username="dan"))
    summary = world.run(key=KEY, validate_only=True, retry_of=validation)

    assert summary["run"] == 1
    assert codes(world, validation) == ["", "", "PasswordTooShort"]
    assert world.users == {}


BLANK = b",,,,"


def numbers(world: World) -> list[int]:
    return [result.csv_row for result in world.results()]


def test_rows_of_empty_cells_are_not_rows_of_any_import(world: World) -> None:
    """There are thousands of them, in a file with fewer rows than an import accepts."""
    world.upload(BLANK, ANN, *[BLANK] * 3000, BROKEN)
    first = world.run(key=KEY)
    assert (first["rows"], first["succeeded"], numbers(world)) == (2, 1, [2, 3003])

    world.upload(ANN, BLANK, BOB)
    again = world.run(key=KEY, retry_of=RESULT)
    assert (again["run"], again["succeeded"], numbers(world)) == (1, 2, [1, 3])


def test_result_of_an_earlier_release_lists_rows_of_empty_cells(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    world.upload(ANN, BLANK, BROKEN)
    with monkeypatch.context() as patch:
        patch.setattr("user_import.csv_file.is_blank_row", lambda *_: False)
        assert world.run(key=KEY)["rows"] == 3

    world.upload(ANN, BLANK, BOB)
    again = world.run(key=KEY, retry_of=RESULT)
    assert (again["run"], again["succeeded"], numbers(world)) == (1, 2, [1, 3])


@pytest.mark.parametrize("rows", [[ANN, BLANK, BOB, CAT], [ANN], [BLANK, BLANK, ANN]])
def test_rows_are_counted_without_rows_of_empty_cells(world: World, rows: list[Row | bytes]) -> None:
    world.upload(ANN, BLANK, BROKEN)
    world.run(key=KEY)
    world.upload(*rows)

    with pytest.raises(InvalidResultFile, match=f"has 2 rows, the file has {len(rows) - rows.count(BLANK)}"):
        world.run(key=KEY, retry_of=RESULT)


@pytest.mark.parametrize("size", [100, 40_000])
@pytest.mark.parametrize(
    ("start", "error", "what"),
    [
        (b"PK\x03\x04" + b"\0" * 26 + b"xl/workbook.xml", InvalidHeader, "an Excel workbook"),
        (f'{HEADER}\n1,ann,"Passw0rd-1,Taro,Sato\n'.encode(), UnclosedQuote, "row 1 opens a quote"),
        (f'"{HEADER}\n'.encode(), UnclosedQuote, "the header opens a quote"),
    ],
)
def test_file_refusal_describes_the_finding(
    world: World, start: bytes, error: type[ImportRefused], what: str, size: int
) -> None:
    world.bucket.put(KEY, start + b"x,\n" * size, {})

    with pytest.raises(error, match=what):
        world.run(key=KEY)
    assert world.users == {}


def test_empty_user_file_has_no_bytes(world: World) -> None:
    world.bucket.put(KEY, b"", {})

    with pytest.raises(InvalidHeader, match="no bytes"):
        world.run(key=KEY)
