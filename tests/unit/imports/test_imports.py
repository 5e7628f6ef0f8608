"""Whole imports: outcomes, counters, results, retries and ends."""

import dataclasses
import itertools
from collections.abc import Generator
from typing import Any

import pytest

from entities.registered import TARGETS
from entities.registered import TYPES as REGISTERED
from entities.types import EntityType, Types
from idempotency import PayloadMismatch
from imports import codes, loading
from imports.creation import MAX_ROWS
from imports.errors import BatchUnfinished, ImportCutOff, InvalidImport, TooManyRows
from imports.files import Files
from imports.loading import Marks
from imports.requests import parse_create, parse_stop
from imports.state import BatchRecord, Source
from runtime.objects import BucketUnavailable
from tests.kit.commands import error, product
from tests.kit.import_world import ImportWorld
from tests.unit import dynamodb

ID = "0123456789abcdef0123456789abcdef"

HEADER = "code,name,category,price,currency\n"
MODES = ["DIRECT", "STEP_FUNCTION"]

both_modes = pytest.mark.parametrize("mode", MODES)


def row(number: int, price: object = 1, name: str = "n") -> str:
    return f"p{number},{name},tea,{price},JPY\n"


def text(*prices: object) -> str:
    return HEADER + "".join(row(number, price) for number, price in enumerate(prices, start=1))


def imported(world: ImportWorld, content: str | None, mode: str, **fields: Any) -> str:
    if mode == "STEP_FUNCTION":
        return world.run(content, **fields)
    return world.create(content, processing_mode=mode, **fields)


@both_modes
def test_every_row_has_one_outcome_in_file_order(world: ImportWorld, mode: str) -> None:
    import_id = imported(world, text(1, "x", 3), mode)
    own = world.row(import_id)

    assert (own["status"], world.counts(import_id)) == ("COMPLETED_WITH_FAILURES", (3, 2, 1, 0))
    assert own["processed_rows"] == 3
    assert world.result(import_id, "succeeded") == [
        ["1", "TENANT#tenant1", "PRODUCT#p1", "1"],
        ["3", "TENANT#tenant1", "PRODUCT#p3", "1"],
    ]
    message = codes.SENTENCES["NotANumber"]
    assert world.result(import_id, "failed") == [["2", "NotANumber", "price", message, "p2", "n", "tea", "x", "JPY"]]
    assert world.text(import_id, "unprocessed") == f"row,{HEADER}"
    assert own["reasons"] == [{"code": "NotANumber", "column": "price", "message": message, "rows": 1}]
    assert world.versions() == {"p1": 1, "p3": 1}


@both_modes
@pytest.mark.parametrize(("option", "succeeded"), [("refuse", ["2"]), ("last", ["2", "4"])])
def test_duplicate_keys_are_rejected(world: ImportWorld, mode: str, option: str, succeeded: list[str]) -> None:
    content = HEADER + row(1) + row(2) + row(1) + row(1, name="last")
    import_id = imported(world, content, mode, options={"duplicates": option})

    assert [one[0] for one in world.result(import_id, "succeeded")] == succeeded
    assert {one[1] for one in world.result(import_id, "failed")} == {"DuplicateKey"}
    assert sum(world.counts(import_id)[1:]) == 4


@both_modes
def test_all_or_nothing_runs_no_row_if_one_is_rejected(world: ImportWorld, mode: str) -> None:
    import_id = imported(world, text(1, "x", 3), mode, options={"all_or_nothing_validation": True})

    assert (world.row(import_id)["status"], world.counts(import_id)) == ("FAILED", (3, 0, 1, 2))
    assert world.result(import_id, "unprocessed") == [
        ["1", "p1", "n", "tea", "1", "JPY"],
        ["3", "p3", "n", "tea", "3", "JPY"],
    ]
    assert world.versions() == {}


@both_modes
def test_failed_import_has_no_stored_row(world: ImportWorld, mode: str) -> None:
    assert world.row(imported(world, text("x", "y"), mode))["status"] == "FAILED"
    assert world.row(imported(world, HEADER, mode))["status"] == "COMPLETED"


@both_modes
def test_only_an_oversized_row_is_rejected(world: ImportWorld, mode: str) -> None:
    content = HEADER + row(1) + f"p2,{'n' * codes.MAX_ROW},tea,1,JPY\n" + row(3)
    import_id = imported(world, content, mode)

    assert world.counts(import_id) == (3, 2, 1, 0)
    assert world.result(import_id, "failed")[0][:2] == ["2", "RowTooLong"]


@both_modes
def test_row_behind_an_unfinished_command_is_rejected(world: ImportWorld, mode: str) -> None:
    world.commands.publish(product(1, sk="PRODUCT#p1", code="p1"))
    import_id = imported(world, text(1), mode)

    assert world.result(import_id, "failed")[0][1:3] == ["PendingCommand", ""]


def test_effects_are_counted_and_an_unchanged_row_publishes_nothing(world: ImportWorld) -> None:
    world.run(text(1, 2))
    world.commands.publish(product(2, sk="PRODUCT#p2", code="p2", mode="sync", deleted=True, attributes={}, name="n")
                           | {"attributes": {}})  # fmt: skip
    import_id = world.run(HEADER + row(1) + row(2) + row(3))
    own = world.row(import_id)

    assert [own[f"{name}_rows"] for name in ("created", "updated", "unchanged")] == [2, 0, 1]
    assert world.versions() == {"p1": 1, "p2": 3, "p3": 1}


def test_validation_of_a_retry_leaves_stored_rows_unchanged(world: ImportWorld) -> None:
    first = world.run(text(1, "x"))
    own = world.row(world.run(retry_of=first, validate_only=True))

    assert [own[f"{name}_rows"] for name in ("created", "updated", "unchanged", "failed")] == [0, 0, 1, 1]


def test_interrupted_batch_resumes_where_it_was(world: ImportWorld) -> None:
    import_id = world.create(text(*range(1, 11)), processing_mode="STEP_FUNCTION")
    world.load(import_id)
    left = itertools.chain(itertools.repeat(True, 4), itertools.repeat(False))
    made, pointers = world.made(import_id), world.pointers(world.made(import_id))
    contents = {one.offset: row(one.row, one.row).strip().encode() for one in pointers}
    with pytest.raises(BatchUnfinished, match="4 of 10 rows"):
        world.batches.run(made, pointers, contents, Marks(), "owner", world.now, lambda: next(left))
    world.batch(import_id)

    assert (world.finish(import_id), set(world.versions().values())) == ("COMPLETED", {1})


def test_import_stopped_before_it_was_read_fails(world: ImportWorld) -> None:
    import_id = world.create(text(1, 2), processing_mode="STEP_FUNCTION")

    assert world.stop(import_id) == {"import_id": import_id, "status": "CREATED"}
    with pytest.raises(ImportCutOff):
        world.load(import_id)
    assert (world.cut_off(import_id), world.counts(import_id)) == ("FAILED", (2, 0, 0, 2))
    assert world.stop(import_id)["status"] == "FAILED"


def test_import_whose_execution_has_just_ended_can_be_stopped(world: ImportWorld) -> None:
    import_id = world.create(text(1), processing_mode="STEP_FUNCTION")
    world.stepfunctions.ended = True

    assert world.stop(import_id) == {"import_id": import_id, "status": "CREATED"}
    assert world.cut_off(import_id) == "FAILED"


def test_chain_of_retries_publishes_each_row_once(world: ImportWorld) -> None:
    first = world.run(text(1, "x", "y"))
    failed = world.text(first, "failed")
    second = world.run(failed.replace(",x,", ",2,"), retry_of=first)
    third = world.run(None, retry_of=first)

    assert (world.counts(second), world.counts(third)) == ((2, 1, 1, 0), (3, 2, 1, 0))
    assert world.versions() == {"p1": 1, "p2": 1}
    assert [world.row(one)["round"] for one in (first, second, third)] == [1, 2, 3]


def test_tenants_may_choose_the_same_id(world: ImportWorld) -> None:
    given = {"key": world.upload(text(1)), "import_id": ID}

    assert world.create(**given) != world.create(**given, tenant_code="tenant2")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("key", "files/b.csv"),
        ("validate_only", True),
        ("processing_mode", "STEP_FUNCTION"),
        ("options", {"all_or_nothing_validation": True}),
    ],
)
def test_other_request_with_the_id_of_an_import_is_rejected(world: ImportWorld, field: str, value: object) -> None:
    world.upload(text(2), "files/b.csv")
    given = {"key": world.upload(text(1)), "import_id": ID}
    world.create(**given)

    with pytest.raises(PayloadMismatch, match=field):
        world.create(**{**given, field: value})


def test_two_retries_do_not_run_concurrently(world: ImportWorld) -> None:
    first = world.run(text(1, "x"))
    world.create(retry_of=first, processing_mode="STEP_FUNCTION")

    with pytest.raises(InvalidImport, match=r"^retry_of: "):
        world.create(retry_of=first)


def test_retry_of_an_import_with_expiring_records_is_rejected(world: ImportWorld) -> None:
    first = world.run(text("x"))
    world.now = world.now.replace(year=world.now.year + 1)

    with pytest.raises(InvalidImport, match=r"^retry_of: too old"):
        world.create(retry_of=first)


@pytest.mark.slow
def test_size_decides_without_a_mode(world: ImportWorld) -> None:
    small, large = text(*[1] * MAX_ROWS), text(*[1] * (MAX_ROWS + 1))
    with pytest.raises(TooManyRows):
        world.create(large, processing_mode="DIRECT")

    assert world.row(world.create(small, validate_only=True))["processing_mode"] == "DIRECT"
    assert world.row(world.create(large, validate_only=True))["processing_mode"] == "STEP_FUNCTION"


def test_file_too_large_for_a_direct_import_is_read_no_further(
    world: ImportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(codes, "MAX_ROW", 100)
    fetched: list[int] = []
    read = Files.stream

    def counted(files: Files, source: Source, chunk: int) -> Generator[bytes]:
        for part in read(files, source, chunk):
            fetched.append(len(part))
            yield part

    monkeypatch.setattr(Files, "stream", counted)
    import_id = world.create(HEADER + 'p1,"' + "x" * 1_000_000)

    assert world.row(import_id)["processing_mode"] == "STEP_FUNCTION"
    assert sum(fetched) < 200_000


def test_no_result_shows_a_secret_or_runs_as_a_formula() -> None:
    types = Types([dataclasses.replace(REGISTERED.of("PRODUCT"), secret=("currency",))], TARGETS)
    world = ImportWorld(dynamodb.client(), types)
    import_id = world.run(f"{HEADER}p1,=1+1,tea,x,s3cret\np2,n,tea,1\n")

    assert [one[4:] for one in world.result(import_id, "failed")] == [["p1", "'=1+1", "tea", "x", ""], [""] * 5]


def test_corrected_file_is_utf_8_whatever_the_first_one_was(world: ImportWorld) -> None:
    content = HEADER + row(1, "x", "煎茶") + row(2, 1, "番茶")
    first = world.run(content.encode("cp932"), options={"encoding": "cp932"})
    world.run(world.text(first, "failed").replace(",x,", ",1,"), retry_of=first)
    again = world.run(retry_of=first)

    names = {item["name"]["S"] for item in world.commands._all(world.commands.tables.data)}
    assert (names, world.counts(again)) == ({"煎茶", "番茶"}, (2, 2, 0, 0))


def test_type_unsupported_in_files_is_rejected() -> None:
    world = ImportWorld(dynamodb.client(), Types([EntityType("PRODUCT")], []))

    with pytest.raises(InvalidImport, match=r"^type: "):
        world.create(text(1))


@pytest.mark.parametrize(("parse", "field"), [(parse_create, "key"), (parse_stop, "by")])
def test_lone_surrogate_is_rejected(parse: Any, field: str) -> None:
    given = {"tenant_code": "tenant1", "import_id": "0" * 32, field: "\ud800.csv"}

    with pytest.raises(InvalidImport, match=rf"^{field}: "):
        parse({name: value for name, value in given.items() if parse is parse_stop or name != "import_id"})


def test_large_results_are_written_in_parts(world: ImportWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("imports.files._CHUNK", 1000)
    monkeypatch.setattr("imports.files._PART", 5 * 1024 * 1024)
    writer = world.files.writer("work/large.csv")
    for number in range(60_000):
        writer.row((number, "x" * 100))

    assert len(world.files.read(writer.close()).splitlines()) == 60_000


def test_file_with_too_many_rows_is_rejected(world: ImportWorld, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loading, "MAX_ROWS", 2)
    import_id = world.run(text(1, 2, 3))

    assert (world.row(import_id)["status"], world.row(import_id)["error"]["code"]) == ("FAILED", "TooManyRows")


def test_batch_record_is_read_as_written(world: ImportWorld) -> None:
    import_id = world.run(text(1, "x"))
    (batch,) = world.table.batches(world.made(import_id).key)

    assert batch == BatchRecord.of(next(one["dynamodb"]["NewImage"] for one in world.inserted()
                                        if one["dynamodb"]["NewImage"]["kind"]["S"] == "batch"))  # fmt: skip
    assert batch.counts["succeeded_rows"] == 1


class RetriedCompletes:
    """An S3 client that loses the answer to CompleteMultipartUpload, so that the SDK sends it again."""

    def __init__(self, client: Any) -> None:
        self._client = client

    def __getattr__(self, name: str) -> Any:
        return getattr(self._client, name)

    def complete_multipart_upload(self, **parameters: Any) -> Any:
        self._client.complete_multipart_upload(**parameters)
        # "The multipart upload might have been aborted or completed" (API reference).
        raise error("NoSuchUpload")


def test_upload_completed_again_by_the_sdk_is_a_transient_error(world: ImportWorld) -> None:
    files = dataclasses.replace(world.files, client=RetriedCompletes(world.files.client))
    writer = files.writer("work/large.csv")
    writer.write(b"x" * 6 * 1024 * 1024)

    with pytest.raises(BucketUnavailable):
        writer.close()
