"""The end of an import whose file is lost, and of executions that do not belong to an import."""

from typing import Any

import pytest

from imports.requests import Job
from imports.state import ImportKey
from tests.kit.import_world import TENANT, ImportWorld, ended

HEADER = "code,name,category,price,currency,description\n"
ROWS = "p1,n,tea,1,JPY,\np2,n,tea,x,JPY,\n"
KEY = ImportKey(TENANT, "0" * 32)


def test_import_whose_file_was_deleted_before_reading_fails(world: ImportWorld) -> None:
    import_id = world.create(HEADER + ROWS, processing_mode="STEP_FUNCTION")
    world.lose(import_id)

    assert world.load(import_id)["status"] == "FAILED"
    assert world.row(import_id)["error"]["code"] == "InvalidImport"


@pytest.mark.parametrize("runs", [True, False], ids=["run", "cut off"])
def test_import_whose_file_was_deleted_later_ends_without_its_cells(world: ImportWorld, runs: bool) -> None:
    import_id = world.create(HEADER + ROWS, processing_mode="STEP_FUNCTION")
    world.load(import_id)
    if runs:
        world.batch(import_id)
    world.lose(import_id)
    world.cut_off(import_id)

    assert world.counts(import_id) == ((2, 1, 1, 0) if runs else (2, 0, 0, 2))
    name = "failed" if runs else "unprocessed"
    assert [(one[0], one[-6:]) for one in world.result(import_id, name)][-1] == ("2", [""] * 6)


def test_direct_import_whose_file_was_deleted_ends(world: ImportWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imports.creation.Direct._run", lambda *_: None)
    monkeypatch.setattr("imports.finalizing.Finalization.finish", lambda *_: None)
    import_id = world.create(HEADER + ROWS)
    monkeypatch.undo()
    world.lose(import_id)
    world.cut_off(import_id)

    assert world.counts(import_id) == (2, 0, 0, 2)


def test_failed_rows_of_a_batch_are_read_at_once(world: ImportWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """A million rows have 10,000 batches: with one read for each failed row, finalization would time out."""
    rows = "".join(f"p{number},n,tea,{'x' if number % 5 else 1},JPY,{'d' * 1000}\n" for number in range(100))
    import_id = world.create(HEADER + rows, processing_mode="STEP_FUNCTION")
    world.load(import_id)
    world.batch(import_id)
    reads: list[int] = []
    part = type(world.files).part
    monkeypatch.setattr(type(world.files), "part", lambda *given: reads.append(given[3]) or part(*given))
    world.finish(import_id)

    assert (len(reads), world.counts(import_id)) == (1, (100, 20, 80, 0))


@pytest.mark.parametrize(
    "changes", [{"name": "by-hand"}, {"input": None}, {"input": "{}"}, {"input": "{"}, {"input": "[]"}], ids=str
)
def test_end_of_an_unrelated_execution_ends_no_import(changes: Any) -> None:
    """A second execution of a running import's input is started, and fails at once."""
    assert ended(KEY).job == Job(TENANT, KEY.import_id)
    assert ended(KEY, **changes).job is None
