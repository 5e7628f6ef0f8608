"""A ZIP state by state, also with lost, late and repeated calls."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from idempotency import Contention
from imports.errors import ImportCutOff, StillRunning
from imports.state import BatchRecord, Outcome, Status
from imports.table import ImportsTable
from imports.zips import LIST, Unzip, status_of
from runtime.sweep import SweepUnfinished
from tests.kit.import_world import MOST, ended
from tests.kit.zip_builder import CSV, File, archive

from .zip_world import START, World

TWO = archive(File(b"STAFF_2026.csv"), File("倉庫/商品.csv"))
LIE = archive(File(b"a.csv"), File(b"b.csv", local={"crc": 7}, central={"crc": 7}))


@pytest.fixture
def world() -> World:
    return World()


def test_each_entry_becomes_a_file_and_a_number(world: World) -> None:
    key = world.upload(TWO, options={"parallel": 3})

    assert world.unzip(key) == {"items": [1, 2], "parallel": 3}
    assert sorted(world.objects(key)) == ["entries.json", "entries/0001.csv", "entries/0002.csv"]
    assert world.files.read(f"{key.work}entries/0002.csv") == CSV
    assert world.found(key).status is Status.PROCESSING


def test_repeated_unzip_writes_nothing(world: World) -> None:
    key = world.upload(TWO)
    first = world.unzip(key)
    written = list(world.objects(key))

    assert world.unzip(key) == first
    assert list(world.objects(key)) == written


def test_child_has_the_lifetime_of_the_zip_records(world: World) -> None:
    key = world.upload(TWO, record_days=30)
    world.unzip(key)

    assert world.found(world.trigger(key, 1)).values["record_days"] == 30


def test_loaded_child_cannot_be_rejected(world: World) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    child = world.trigger(key, 1)
    world.table.loaded(child, {"columns": ["code"], "total_rows": 3, "unprocessed_rows": 3}, START)

    assert not world.table.end(child, Status.FAILED, {}, START, refused=True)
    assert world.found(child).status is Status.PROCESSING


def test_unzip_that_lands_after_the_end_leaves_nothing(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = world.upload(TWO)
    put = type(world.files).put

    def late(*given: Any) -> None:
        monkeypatch.undo()
        world.end.finalize(key, START)
        put(*given)

    monkeypatch.setattr(type(world.files), "put", late)
    with pytest.raises(ImportCutOff):
        world.unzip(key)
    assert list(world.objects(key)) == []


@pytest.mark.parametrize(("data", "status", "code"), [(TWO, "PROCESSING", None), (LIE, "FAILED", "WrongCrc")])
def test_finalize_raises_contention_if_unzip_finishes_meanwhile(
    world: World, monkeypatch: pytest.MonkeyPatch, data: bytes, status: str, code: str | None
) -> None:
    """Otherwise the first entry of an archive inside its second one would stay."""
    key = world.upload(data)
    delete = type(world.files).delete_all

    def late(*given: Any) -> None:
        delete(*given)
        monkeypatch.undo()
        world.unzip(key)

    monkeypatch.setattr(type(world.files), "delete_all", late)
    with pytest.raises(Contention):
        world.end.finalize(key, START)
    if code:
        world.end.finalize(key, START)

    assert world.found(key).status == status
    assert world.found(key).values.get("error", {}).get("code") == code
    assert bool(list(world.objects(key))) is (code is None)


@pytest.mark.slow
def test_entry_of_several_parts_is_written_in_full(world: World) -> None:
    data = b"".join(b"%09d\n" % number for number in range(1_200_000))
    key = world.upload(archive(File(data=data)))
    world.unzip(key)

    assert world.files.read(f"{key.work}entries/0001.csv") == data


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("STAFF.csv", "STAFF"),
        ("STAFF_2026.csv", "STAFF"),
        ("a/STAFF.old.csv", "STAFF"),
        ("staff.csv", "PRODUCT"),
        ("STAFF-2026.csv", "PRODUCT"),
        ("STAFF/2026.csv", "PRODUCT"),
        ("ORDER_1.csv", "PRODUCT"),
    ],
)
def test_entry_type_is_its_name_prefix_or_the_type_of_the_zip(world: World, name: str, kind: str) -> None:
    key = world.upload(archive(File(name)))
    world.unzip(key)
    child = world.found(world.trigger(key, 1))

    assert (child.values["type"], child.values["entry"]) == (kind, name)


@pytest.mark.parametrize(("data", "code"), [(LIE, "WrongCrc"), (archive(), "EmptyArchive"), (b"", "NotAnArchive")])
def test_refused_archive_has_its_reason_and_leaves_nothing(world: World, data: bytes, code: str) -> None:
    key = world.upload(data)

    assert world.unzip(key)["items"] == []
    assert world.end.finalize(key, START) is Status.FAILED
    assert world.found(key).values["error"]["code"] == code
    assert list(world.objects(key)) == []
    with pytest.raises(ImportCutOff):
        world.trigger(key, 1)


def test_missing_zip_has_an_error(world: World) -> None:
    key = world.upload(TWO, version_id="2c8ad25c-0000-4000-8000-000000000000")

    assert world.unzip(key)["items"] == []
    assert world.found(key).values["error"]["code"] == "InvalidImport"


def test_crashed_unzip_leaves_nothing(world: World) -> None:
    key = world.upload(TWO)
    world.files.put(f"{key.work}entries/0001.csv", CSV)
    world.files.put(f"{key.work}entries/0001.csv", CSV)

    assert world.end.finalize(key, START) is Status.FAILED
    assert list(world.objects(key)) == []


@pytest.mark.parametrize("values", [{"stopped_by": "operator"}, {"status": "FAILED"}])
def test_nothing_is_unzipped_for_a_stopped_or_finished_import(world: World, values: Mapping[str, str]) -> None:
    key = world.upload(TWO, **values)

    with pytest.raises(ImportCutOff):
        world.unzip(key)
    assert list(world.objects(key)) == []


@pytest.mark.parametrize(("options", "share"), [({}, MOST // 2), ({"parallel": 1}, MOST), ({"max_concurrency": 3}, 3)])
def test_children_share_the_stacks_limit_on_concurrent_batches(
    world: World, options: Mapping[str, int], share: int
) -> None:
    key = world.upload(TWO, options=options)
    world.unzip(key)

    assert world.found(world.trigger(key, 1)).options.max_concurrency == share


def test_concurrent_entries_do_not_exceed_concurrent_batches(world: World) -> None:
    answer = Unzip(world.table, world.entries).run(world.upload(TWO), START, most=1)

    assert answer == {"items": [1, 2], "parallel": 1}


def test_child_inherits_the_options_of_its_zip_but_has_its_own_id(world: World) -> None:
    key = world.upload(TWO, options={"parallel": 3, "encoding": "cp932"}, validated=True)
    world.unzip(key)
    child = world.found(world.trigger(key, 2))

    assert child.key.import_id == f"{key.import_id}-0002"
    assert child.values["parent_id"] == key.import_id
    assert child.values["processing_mode"] == "STEP_FUNCTION"
    assert child.values["options"] == {"encoding": "cp932", "max_concurrency": MOST // 2}
    assert child.validated
    assert world.files.read(child.source.key) == CSV


def test_no_import_and_no_file_contains_a_token(world: World) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    child = world.trigger(key, 1, "secret-token")

    assert "secret-token" in str(world.item(child))
    assert "secret-token" not in json.dumps(world.found(child).values, default=str)
    assert "secret-token" not in str(list(world.table.open()))


def test_end_of_a_child_answers_every_token_once(world: World) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    child = world.trigger(key, 1, "first")
    world.trigger(key, 1, "second")
    assert world.stepfunctions.answers == []
    record = world.ended(child)
    for _ in range(2):
        world.children.answer(record)

    assert sorted(world.stepfunctions.answers) == ["first", "second"]
    assert "tokens" not in world.item(child)


def test_running_child_answers_no_token(world: World) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    world.children.answer(world.item(world.trigger(key, 1)))

    assert world.stepfunctions.answers == []


def test_token_that_arrives_after_the_end_is_answered_at_once(world: World) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    world.ended(world.trigger(key, 1))
    world.trigger(key, 1, "late")

    assert world.stepfunctions.answers == ["late"]
    assert world.found(key).values["children"] == 1


def test_child_created_while_the_zip_ends_is_not_missed(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    world.ended(world.trigger(key, 1))
    read = ImportsTable.children

    def children(rows: object, parent: object) -> object:
        found = read(rows, parent)  # type: ignore[arg-type]
        world.trigger(key, 2)
        return found

    monkeypatch.setattr(ImportsTable, "children", children)
    with pytest.raises(Contention):
        world.end.finalize(key, START)
    monkeypatch.undo()
    with pytest.raises(StillRunning):
        world.end.finalize(key, START)


def test_counters_are_the_sum_of_the_children(world: World) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    done = {"total_rows": 5, "processed_rows": 5, "succeeded_rows": 5, "created_rows": 4, "unchanged_rows": 1}
    partly = {"total_rows": 7, "processed_rows": 6, "succeeded_rows": 4, "failed_rows": 2, "unprocessed_rows": 1}
    world.ended(world.trigger(key, 1), **done)
    second = world.trigger(key, 2)
    with pytest.raises(StillRunning):
        world.end.finalize(key, START)
    world.ended(second, Status.COMPLETED_WITH_FAILURES, **partly)

    assert world.end.finalize(key, START) is Status.COMPLETED_WITH_FAILURES
    found = world.found(key).values
    assert {name: found[name] for name in (*partly, "created_rows", "unchanged_rows", "updated_rows")} == {
        "total_rows": 12,
        "processed_rows": 11,
        "succeeded_rows": 9,
        "failed_rows": 2,
        "unprocessed_rows": 1,
        "created_rows": 4,
        "unchanged_rows": 1,
        "updated_rows": 0,
    }
    assert "open_since" not in found
    assert "error" not in found
    assert world.end.finalize(key, START) is Status.COMPLETED_WITH_FAILURES


def test_counters_change_with_those_of_the_children(world: World) -> None:
    """It also holds after duplicate loaders, stream records and ends, and if the recount finds more rows."""
    key = world.upload(TWO)
    world.unzip(key)
    children = [world.trigger(key, 1), world.trigger(key, 2)]
    found = {"columns": ["code"], "total_rows": 5, "unprocessed_rows": 5}
    batch = BatchRecord(1, 2, [Outcome(1, "PRODUCT#a", 1, "created"), Outcome(2, code="Required")])
    for child in children * 2:
        world.table.loaded(child, found, START)
        world.table.record(child, batch, START)
        world.table.count(child, [(1, batch.counts)], START)

    assert world.counters(key) == {"total": 10, "unprocessed": 6, "processed": 4, "succeeded": 2, "failed": 2}
    counts = {"processed_rows": 5, "succeeded_rows": 4, "failed_rows": 1, "unprocessed_rows": 0, "created_rows": 4}
    for _ in range(2):
        world.ended(children[0], Status.COMPLETED_WITH_FAILURES, **counts)

    assert world.counters(key) == {"total": 10, "unprocessed": 3, "processed": 7, "succeeded": 5, "failed": 2}
    world.table.count(children[0], [(1, batch.counts)], START)
    assert world.counters(key)["processed"] == 7


def test_batch_counted_while_its_import_ends_is_counted_once(world: World, monkeypatch: pytest.MonkeyPatch) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    child = world.trigger(key, 1)
    batch = BatchRecord(1, 1, [Outcome(1, "PRODUCT#a", 1, "created")])
    world.table.loaded(child, {"columns": ["code"], "total_rows": 1, "unprocessed_rows": 1}, START)
    world.table.record(child, batch, START)
    move = ImportsTable._move

    def meanwhile(table: ImportsTable, *given: Any, **more: Any) -> bool:
        monkeypatch.undo()
        table.count(child, [(1, batch.counts)], START)
        return move(table, *given, **more)

    monkeypatch.setattr(ImportsTable, "_move", meanwhile)
    world.ended(child, processed_rows=1, succeeded_rows=1, created_rows=1, unprocessed_rows=0)

    assert world.counters(key) == {"total": 1, "unprocessed": 0, "processed": 1, "succeeded": 1, "failed": 0}


@pytest.mark.parametrize(
    ("children", "complete", "status"),
    [
        ([("COMPLETED", 3), ("COMPLETED", 0)], True, "COMPLETED"),
        ([("COMPLETED", 3)], False, "COMPLETED_WITH_FAILURES"),
        ([("COMPLETED", 3), ("FAILED", 0)], True, "COMPLETED_WITH_FAILURES"),
        ([("COMPLETED_WITH_FAILURES", 1)], True, "COMPLETED_WITH_FAILURES"),
        ([("FAILED", 0), ("FAILED", 0)], True, "FAILED"),
        ([("COMPLETED", 0), ("FAILED", 0)], True, "FAILED"),
        ([], False, "FAILED"),
    ],
)
def test_status_is_never_better_than_the_outcome(
    world: World, children: list[tuple[str, int]], complete: bool, status: str
) -> None:
    key = world.upload(TWO)
    found = [type(world.found(key))(key, {"status": one, "succeeded_rows": succeeded}) for one, succeeded in children]

    assert status_of(found, complete=complete) == status


def test_zip_stopped_by_a_person_stops_its_children(world: World) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    child = world.trigger(key, 1)
    world.table.stop(key, "operator", START)
    world.stepfunctions.stop_execution(executionArn=key.import_id)

    with pytest.raises(StillRunning):
        world.recovery.cut_off(key, START)
    assert world.found(child).values["stopped_by"] == "operator"
    assert child.import_id in world.stepfunctions.ended
    with pytest.raises(ImportCutOff):
        world.trigger(key, 2)


def test_end_of_a_zip_with_running_children_is_left_to_the_sweep(world: World) -> None:
    key = world.upload(TWO)
    world.unzip(key)
    world.trigger(key, 1)
    world.stepfunctions.stop_execution(executionArn=key.import_id)
    world.recovery.end(ended(key), START)

    assert world.found(key).status is Status.PROCESSING


def test_sweep_reports_a_failure_for_one_zip(world: World) -> None:
    key = world.upload(TWO)
    world.stepfunctions.stop_execution(executionArn=key.import_id)

    with pytest.raises(SweepUnfinished, match="1 of 1"):
        world.recovery.sweep(START, lambda: False)


def test_zip_that_has_not_started_is_left_to_the_sweep_of_imports(world: World) -> None:
    key = world.upload(TWO)
    world.stepfunctions.running.clear()
    world.recovery.sweep(START, lambda: True)

    assert world.found(key).status is Status.CREATED


def test_list_of_entries_is_written_last(world: World) -> None:
    """An unzip interrupted before it has no list, so no child finds its entry."""
    key = world.upload(TWO)
    world.unzip(key)

    assert json.loads(world.files.read(key.work + LIST))[0] == {"number": 1, "name": "STAFF_2026.csv", "type": "STAFF"}
