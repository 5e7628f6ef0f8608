"""The start of an import by a message of the queue."""

import pytest

from imports.errors import InvalidImport
from imports.executions import start_import
from imports.state import ImportKey
from tests.kit.import_world import TENANT, ImportWorld

FILE = "code,name,category,price,currency\np1,n,tea,1,JPY\n"


def started(world: ImportWorld, import_id: str) -> tuple[str, list[str]]:
    status = start_import(world.table, world.machines, ImportKey(TENANT, import_id))
    return status, world.machines.client().started


def test_created_import_is_started(world: ImportWorld) -> None:
    import_id = world.create(FILE, processing_mode="STEP_FUNCTION")

    assert started(world, import_id) == ("CREATED", [import_id])


def test_running_or_finished_import_is_left_alone(world: ImportWorld) -> None:
    import_id = world.create(FILE, processing_mode="STEP_FUNCTION")
    world.load(import_id)
    assert started(world, import_id) == ("PROCESSING", [])

    world.cut_off(import_id)
    assert started(world, import_id) == ("FAILED", [])


def test_import_run_by_a_call_has_no_machine(world: ImportWorld) -> None:
    assert started(world, world.create(FILE, processing_mode="DIRECT"))[1] == []


def test_unknown_import_is_rejected(world: ImportWorld) -> None:
    with pytest.raises(InvalidImport, match=r"^import_id: no such import"):
        started(world, "0" * 32)
