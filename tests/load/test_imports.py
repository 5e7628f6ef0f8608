"""An import while workers are killed. Nothing is lost, and nothing is done twice."""

import os
import random
import uuid
from collections import Counter
from contextlib import suppress
from typing import Any

import pytest

from stepwise.local.emulator import emulator
from stepwise.operations.stack import Row, Stack
from tests.kit.belongings import RUN
from tests.kit.deployed_commands import Refused, call
from tests.kit.deployed_imports import FINAL, ProductImports, csv_text, product
from tests.kit.injection import eventually, killing_workers

# `make imports-test` takes 5,000 rows and 20 kills.
ROWS = int(os.environ.get("ROWS", "300"))
KILLS = int(os.environ.get("KILLS", "3"))
# Each such row has a price that is no number.
BAD_EVERY = 50
# A busy machine takes ten times as long as a quiet one.
SECONDS = 600 + ROWS
_AT_ONCE = {"max_concurrency": 6}


@pytest.mark.timeout(3000)
def test_no_row_is_lost_or_stored_twice_while_workers_are_killed(stack: Stack, running: emulator.Emulator) -> None:
    products, chance = ProductImports(stack, f"{RUN[:30]}-{uuid.uuid4().hex[:8]}"), random.Random(2026)  # noqa: S311
    bad = [number for number in range(1, ROWS + 1) if number % BAD_EVERY == 0]
    rows = [product(number, **({"price": "x"} if number in bad else {})) for number in range(1, ROWS + 1)]
    started: dict[str, Any] = {"key": products.upload(csv_text(rows)), "type": "PRODUCT"}
    ended: list[Row] = []
    killed = 0
    while killed < KILLS or not ended or ended[-1]["unprocessed_rows"]:
        asked = {"retry_of": ended[-1]["import_id"]} if ended else started
        import_id = products.create(**asked, processing_mode="STEP_FUNCTION", options=_AT_ONCE)["import_id"]
        killed += _kill_until_ended(products, import_id, running.pid, chance, KILLS - killed)
        ended.append(_at_its_end(products, import_id))

    assert killed >= KILLS
    for row in ended:
        assert row["succeeded_rows"] + row["failed_rows"] + row["unprocessed_rows"] == row["total_rows"] == ROWS
    assert _rows_of_results(products, ended[-1]) == Counter(range(1, ROWS + 1))
    assert (ended[-1]["succeeded_rows"], ended[-1]["failed_rows"]) == (ROWS - len(bad), len(bad))
    stored = {f"PRODUCT#p{number:06}" for number in range(1, ROWS + 1) if number not in bad}
    assert _versions(stack, products, "DataTable") == Counter({(sk, 1): 1 for sk in stored})
    assert _versions(stack, products, "CommandsTable") == Counter({(f"{sk}@1", 1): 1 for sk in stored})
    assert _versions(stack, products, "HistoryTable") == Counter()


def _kill_until_ended(products: ProductImports, import_id: str, pid: int, chance: random.Random, kills: int) -> int:
    """Kill workers until this many were killed, or the import has ended. Returns the number killed."""
    if kills <= 0:
        return 0
    with killing_workers(pid, chance, every=1.5) as killed:
        eventually(lambda: len(killed) >= kills or _ended(products, import_id), seconds=SECONDS, every=1)
    return len(killed)


def _at_its_end(products: ProductImports, import_id: str) -> Row:
    eventually(lambda: _ended(products, import_id), seconds=SECONDS, every=1)
    return products.row(import_id)


def _ended(products: ProductImports, import_id: str) -> bool:
    """Returns True if an import has ended. Sweeps, as the schedule does, in case an event was lost."""
    if products.row(import_id)["status"] in FINAL:
        return True
    with suppress(Refused):
        call(products.stack, "SweepImports", {})
    return False


def _rows_of_results(products: ProductImports, row: Row) -> Counter[int]:
    names = ("succeeded", "failed", "unprocessed")
    return Counter(int(one["row"]) for name in names for one in products.result(row["import_id"], name))


def _versions(stack: Stack, products: ProductImports, table: str) -> Counter[tuple[str, int]]:
    """Key and version of every row of the tenant."""
    rows = (row for row in stack.rows(table) if row["pk"] == f"TENANT#{products.tenant}")
    return Counter((row["sk"], int(row["version"])) for row in rows)
