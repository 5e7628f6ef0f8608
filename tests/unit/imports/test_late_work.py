"""What lands late: after counters moved, after an end, after a retry."""

from datetime import timedelta
from typing import Any

import pytest

from imports.errors import ImportCutOff, InvalidImport
from imports.finalizing import Finalization
from tests.kit.import_world import ImportWorld

_FILE = "code,name,category,price,currency\np1,n,tea,1,JPY\n"


def test_a_chain_is_as_old_as_its_first_import(world: ImportWorld) -> None:
    """What the first import stored has the first import's record, however young the retry is."""
    first = world.run(_FILE)
    world.now += timedelta(days=80)
    second = world.run(retry_of=first)
    world.now += timedelta(days=80)

    with pytest.raises(InvalidImport, match=r"^retry_of: too old"):
        world.create(retry_of=second)


def test_a_late_loader_sets_no_counter_back(world: ImportWorld) -> None:
    import_id = world.create(_FILE, processing_mode="STEP_FUNCTION")
    world.load(import_id)
    world.batch(import_id)
    world.follow(*world.inserted())

    world.load(import_id)

    assert world.counts(import_id) == (1, 1, 0, 0)


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


def test_a_finalization_that_hangs_changes_nothing_after_a_retry(
    world: ImportWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_id = world.create(_FILE, processing_mode="STEP_FUNCTION")
    world.load(import_id)
    outcomes = Finalization._outcomes

    def hung(self: Finalization, *given: Any) -> Any:
        monkeypatch.setattr(Finalization, "_outcomes", outcomes)
        world.finish(import_id)
        world.run(retry_of=import_id)
        return outcomes(self, *given)

    monkeypatch.setattr(Finalization, "_outcomes", hung)
    world.finish(import_id)

    assert world.counts(import_id) == (1, 0, 0, 1)
    assert world.result(import_id, "succeeded") == []
    assert [cells[0] for cells in world.result(import_id, "unprocessed")] == ["1"]
