"""Late writes: after counters moved, after an end, after a retry."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest

from idempotency import StoreUnavailable
from imports.errors import FileRefused, ImportCutOff, InvalidImport
from imports.loading import Loader
from imports.table import ImportsTable
from tests.kit.import_world import LIFETIME, MOST, ImportWorld
from tests.kit.project import ROOT, read_json

_FILE = "code,name,category,price,currency\np1,n,tea,1,JPY\n"


def test_records_keep_their_expiry_after_the_lifetime_is_raised(world: ImportWorld) -> None:
    first = world.run(_FILE)
    world.lifetime = 4 * LIFETIME
    world.now += LIFETIME / 2
    second = world.run(retry_of=first)
    world.now += LIFETIME / 2

    for one in (first, second):
        with pytest.raises(InvalidImport, match=r"^retry_of: too old"):
            world.create(retry_of=one)


def while_loading(monkeypatch: pytest.MonkeyPatch, work: Callable[[], object]) -> None:
    """Call this once, after the next loader has found the import not loaded, and before it reads the file."""
    read = Loader.load

    def late(*given: Any) -> Any:
        monkeypatch.setattr(Loader, "load", read)
        work()
        return read(*given)

    monkeypatch.setattr(Loader, "load", late)


@pytest.mark.parametrize(("asked", "runs"), [(3, 3), (50, MOST)])
def test_import_respects_the_stacks_limit_on_concurrent_batches(world: ImportWorld, asked: int, runs: int) -> None:
    import_id = world.create(_FILE, processing_mode="STEP_FUNCTION", options={"max_concurrency": asked})

    assert world.load(import_id)["max_concurrency"] == runs


def test_repeated_loader_needs_no_file(world: ImportWorld) -> None:
    """The first response was lost, and the Map is running."""
    import_id = world.create(_FILE, processing_mode="STEP_FUNCTION", options={"max_concurrency": 3})
    first = world.load(import_id)
    world.lose(import_id)

    assert world.load(import_id) == first == {"status": "PROCESSING", "rows": 1, "max_concurrency": 3}
    assert world.row(import_id)["status"] == "PROCESSING"


def test_late_call_does_not_reject_running_rows(world: ImportWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first file is deleted between two concurrent calls, so only the later one finds a row with another key."""
    first = world.create(_FILE, processing_mode="STEP_FUNCTION")
    world.load(first)
    world.cut_off(first)
    corrected = f"row,{_FILE}".replace("p1", "1,p1")
    options = {"all_or_nothing_validation": True}
    retry = world.create(corrected, retry_of=first, processing_mode="STEP_FUNCTION", options=options)

    def run() -> None:
        world.load(retry)
        world.lose(first)

    while_loading(monkeypatch, run)

    assert world.load(retry)["status"] == "PROCESSING"
    assert "results" not in world.row(retry)


def test_batch_records_expire_and_a_retry_needs_none(world: ImportWorld) -> None:
    """TTL may delete them a month after the import; the records of rows stay."""
    first = world.run(_FILE)
    key = {name: {"S": value} for name, value in world.made(first).key.batch(1).items()}
    found = world.client.get_item(TableName=world.table_name, Key=key)["Item"]
    assert int(found["expires_at"]["N"]) == (world.now + timedelta(days=30)).timestamp()

    world.client.delete_item(TableName=world.table_name, Key=key)
    world.now += timedelta(days=31)
    assert world.finish(first) == "COMPLETED"
    with pytest.raises(ImportCutOff):
        world.batch(first)
    assert world.counts(world.run(retry_of=first)) == (1, 1, 0, 0)
    assert world.versions() == {"p1": 1}


def test_late_finalization_reports_how_the_import_ended(world: ImportWorld) -> None:
    """Without rows, it would be COMPLETED."""
    import_id = world.create(_FILE.splitlines()[0], processing_mode="STEP_FUNCTION")
    seen = world.made(import_id)
    world.finalization.refuse(seen, FileRefused("NotUtf8", "", "Save as UTF-8."), world.now)

    assert world.finalization.finish_cut_off(seen, world.now) == "FAILED"
    assert world.row(import_id)["error"]["code"] == "NotUtf8"


def test_finalization_that_crashed_before_the_end_is_repeated(
    world: ImportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The file is deleted meanwhile: all results returned are those of the second one."""
    import_id = world.create(_FILE + "p2,n,tea,x,JPY\n", processing_mode="STEP_FUNCTION")
    world.load(import_id)
    world.batch(import_id)

    def lost(*_: Any, **__: Any) -> None:
        raise StoreUnavailable

    with monkeypatch.context() as table:
        table.setattr(ImportsTable, "end", lost)
        with pytest.raises(StoreUnavailable):
            world.finish(import_id)
    world.lose(import_id)

    assert (world.finish(import_id), world.counts(import_id)) == ("COMPLETED_WITH_FAILURES", (2, 1, 1, 0))
    assert world.result(import_id, "succeeded") == [["1", "TENANT#tenant1", "PRODUCT#p1", "1"]]
    assert [cells[0] for cells in world.result(import_id, "failed")] == ["2"]
    assert world.result(import_id, "unprocessed") == []
    assert len({key.rpartition("/")[0] for key in world.row(import_id)["results"].values()}) == 1


@pytest.mark.parametrize("rows", [1, 1001], ids=["DIRECT", "STEP_FUNCTION"])
def test_repeated_upload_event_needs_no_file(world: ImportWorld, rows: int) -> None:
    event = read_json(ROOT / "events/imports/create_import_upload.json")
    header, row = _FILE.splitlines()
    key = world.upload("\n".join([header, *[row] * rows]), event["detail"]["object"]["key"])
    event["detail"]["object"]["version-id"] = world.files.source(key).version_id
    first = world.ask(event)
    world.lose(first["import_id"])

    assert world.ask(event) == first
