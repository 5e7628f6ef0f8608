"""Corrected rows with a changed key or without a secret, and retries that check all rows first."""

import dataclasses
from typing import Any

import pytest

from entities.registered import TARGETS, TYPES
from entities.types import Types
from idempotency.codec import from_value
from tests.kit.import_world import ImportWorld
from tests.unit import dynamodb

HEADER = "code,name,category,price,currency\n"
ALL_OR_NOTHING = {"all_or_nothing_validation": True}
both_modes = pytest.mark.parametrize("processing_mode", ["DIRECT", "STEP_FUNCTION"])


def row(code: str, price: object = 1) -> str:
    return f"{code},n,tea,{price},JPY\n"


def cut_off(world: ImportWorld, text: str) -> str:
    """An import without an outcome for any row."""
    import_id = world.create(text, processing_mode="STEP_FUNCTION")
    world.load(import_id)
    world.cut_off(import_id)
    return import_id


def retried(world: ImportWorld, text: str, first: str, mode: str, **fields: Any) -> str:
    if mode == "STEP_FUNCTION":
        return world.run(text, retry_of=first, **fields)
    return world.create(text, retry_of=first, processing_mode=mode, **fields)


@both_modes
def test_unprocessed_row_keeps_its_key(world: ImportWorld, processing_mode: str) -> None:
    first = cut_off(world, HEADER + row("p1") + row("p2"))
    moved = retried(world, f"row,{HEADER}2,{row('p9')}1,{row('p1')}", first, processing_mode)

    assert [cells[:3] for cells in world.result(moved, "failed")] == [["2", "NotAllowed", "code"]]
    assert world.versions() == {"p1": 1}
    right = retried(world, f"row,{HEADER}2,{row('p2')}", moved, processing_mode)
    assert world.row(right)["status"] == "COMPLETED"
    assert world.versions() == {"p1": 1, "p2": 1}


@both_modes
def test_row_missing_in_the_first_file_is_rejected(world: ImportWorld, processing_mode: str) -> None:
    retry = retried(world, f"row,{HEADER}2,{row('p2')}", cut_off(world, HEADER + row("p1")), processing_mode)

    assert [cells[:3] for cells in world.result(retry, "failed")] == [["2", "NotAllowed", "code"]]


@pytest.mark.parametrize("code", ["", "no code!"])
def test_row_without_a_key_may_get_one(world: ImportWorld, code: str) -> None:
    retry = world.run(f"row,{HEADER}1,{row('p1')}", retry_of=cut_off(world, HEADER + row(code)))

    assert world.versions() == {"p1": 1}
    assert world.row(retry)["status"] == "COMPLETED"


def test_records_provide_the_keys_of_a_deleted_first_file(world: ImportWorld) -> None:
    first = world.run(HEADER + row("p1", "x"))
    world.lose(first)
    retry = world.run(f"row,{HEADER}1,{row('p1')}2,{row('p2')}", retry_of=first)

    assert world.versions() == {"p1": 1}
    assert [cells[:3] for cells in world.result(retry, "failed")] == [["2", "NotAllowed", "code"]]


@both_modes
def test_all_or_nothing_retry_reports_stored_rows(world: ImportWorld, processing_mode: str) -> None:
    first = world.run(HEADER + row("p1") + row("p2", "x") + row("p3", "x"))
    text = f"row,{HEADER}1,{row('p1')}2,{row('p2')}3,{row('p3', 'x')}"
    retry = retried(world, text, first, processing_mode, options=ALL_OR_NOTHING)

    assert (world.row(retry)["status"], world.counts(retry)) == ("COMPLETED_WITH_FAILURES", (3, 1, 1, 1))
    assert world.result(retry, "succeeded") == [["1", "TENANT#tenant1", "PRODUCT#p1", "1"]]
    assert [cells[0] for cells in world.result(retry, "unprocessed")] == ["2"]
    assert world.versions() == {"p1": 1}


@both_modes
def test_all_or_nothing_retry_runs_if_only_stored_rows_are_wrong(world: ImportWorld, processing_mode: str) -> None:
    first = world.run(HEADER + row("p1") + row("p2", "x"))
    text = f"row,{HEADER}1,{row('p1', 'x')}2,{row('p2')}"
    retry = retried(world, text, first, processing_mode, options=ALL_OR_NOTHING)

    assert (world.row(retry)["status"], world.counts(retry)) == ("COMPLETED", (2, 2, 0, 0))


@pytest.fixture
def secretive() -> ImportWorld:
    """A world whose products have a secret description; p1 has one."""
    world = ImportWorld(
        dynamodb.client(), Types([dataclasses.replace(TYPES.of("PRODUCT"), secret=("description",))], TARGETS)
    )
    world.run(secret_file("p1,n,tea,1,JPY,hush\n"))
    return world


def secret_file(rows: str) -> str:
    return f"{HEADER.strip()},description\n{rows}"


def descriptions(world: ImportWorld) -> list[Any]:
    found = world.commands._all(world.commands.tables.data)
    return [from_value(item["attributes"]).get("description") for item in found]


@both_modes
@pytest.mark.parametrize("result", ["failed", "unprocessed"])
def test_result_without_its_secrets_erases_none(secretive: ImportWorld, processing_mode: str, result: str) -> None:
    price = "x" if result == "failed" else "2"
    content = secret_file(f"p1,n,tea,{price},JPY,hush\n")
    first = secretive.run(content) if result == "failed" else cut_off(secretive, content)
    corrected = secretive.text(first, result).replace(",x,", ",2,")
    retry = retried(secretive, corrected, first, processing_mode)

    assert (secretive.counts(retry), descriptions(secretive)) == ((1, 0, 1, 0), ["hush"])
    ((*_, code, column, message), *_) = [cells[:4] for cells in secretive.result(retry, "failed")]
    assert (code, column) == ("Required", "description")
    assert "results leave out secrets" in message
    again = retried(secretive, corrected.replace(",JPY,", ",JPY,new"), retry, processing_mode)
    assert (secretive.row(again)["status"], descriptions(secretive)) == ("COMPLETED", ["new"])


def test_only_a_corrected_file_needs_every_secret(secretive: ImportWorld) -> None:
    """A row replaces the entity; stored rows are reported, whatever the result has left out."""
    first = secretive.run(secret_file("p1,n,tea,1,JPY,\n"))
    retry = secretive.run(f"row,{secret_file('1,p1,n,tea,1,JPY,')}\n", retry_of=first)

    assert descriptions(secretive) == [None]
    assert secretive.row(retry)["status"] == "COMPLETED"
    other = secretive.run(f"row,{HEADER}1,{row('p1', 'x')}", retry_of=first)
    assert secretive.row(other)["status"] == "COMPLETED"
