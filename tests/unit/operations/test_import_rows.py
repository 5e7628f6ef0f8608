"""Rows of an import by number, on the tables of a stack in this process."""

from typing import Any

import pytest

from imports.state import Import
from stepwise.operations import import_rows
from stepwise.operations.import_rows import EMPTY, FAILED, NO_RECORD, UNPROCESSED, WAITING, ImportRow
from stepwise.operations.stack import Stack
from tests.kit.import_world import ImportWorld
from tests.unit import dynamodb

HEADER = "code,name,category,price,currency\n"


class Desk:
    """Imports, and the stack that has them."""

    def __init__(self) -> None:
        self.world = ImportWorld(dynamodb.client())
        session: Any = None
        self.stack = Stack(session, None, {"ImportsTable": self.world.table_name})
        self.stack._clients["dynamodb"] = self.world.client

    def create(self, *prices: object) -> str:
        rows = "".join(f"p{number},n,tea,{price},JPY\n" for number, price in enumerate(prices, start=1))
        return self.world.create(HEADER + rows, processing_mode="STEP_FUNCTION")

    def ended(self, *prices: object) -> Import:
        import_id = self.create(*prices)
        self.world.load(import_id)
        for first in range(1, len(prices) + 1, 100):
            self.world.batch(import_id, first)
        self.world.finish(import_id)
        return self.world.made(import_id)

    def page(self, made: Import, first: int, count: int = 100) -> list[ImportRow]:
        return import_rows.page(self.stack, made, first, count)


@pytest.fixture
def desk() -> Desk:
    return Desk()


@pytest.mark.slow
def test_page_has_its_rows_in_file_order(desk: Desk) -> None:
    made = desk.ended(*[1] * 150, "x", *[1] * 120)
    rows = desk.page(made, 95, 60)

    assert [row.position for row in rows] == list(range(95, 155))
    assert {row.state for row in rows} == {"created", FAILED}
    assert (rows[0].sk, rows[0].version, rows[0].row) == ("PRODUCT#p95", 1, 95)
    bad = rows[151 - 95]
    assert (bad.state, bad.code, bad.column) == (FAILED, "NotANumber", "price")
    assert "Use digits only" in bad.message


def test_page_ends_with_the_file(desk: Desk) -> None:
    made = desk.ended(1, 2, 3)

    assert [row.position for row in desk.page(made, 2)] == [2, 3]
    assert desk.page(made, 4) == []


@pytest.mark.slow
def test_page_reads_only_the_records_of_its_batches(desk: Desk) -> None:
    made = desk.ended(*[1] * 350)
    read: list[int] = []
    desk.world.client.meta.events.register(
        "after-call.dynamodb.Query", lambda parsed, **_: read.append(parsed["Count"])
    )
    desk.page(made, 201)

    assert read == [1]


def test_rows_wait_until_their_batch_has_run(desk: Desk) -> None:
    import_id = desk.create(*[1] * 101)
    desk.world.load(import_id)
    desk.world.batch(import_id, 101)
    made = desk.world.made(import_id)

    assert [row.state for row in desk.page(made, 99)] == [WAITING, WAITING, "created"]


def test_rows_without_an_outcome_are_unprocessed_at_the_end(desk: Desk) -> None:
    import_id = desk.create(1, 2)
    desk.world.load(import_id)
    desk.world.stop(import_id)
    desk.world.cut_off(import_id)

    assert [row.state for row in desk.page(desk.world.made(import_id), 1)] == [UNPROCESSED] * 2


def test_import_with_expired_records_says_so(desk: Desk) -> None:
    made = desk.ended(1)
    desk.world.client.delete_item(
        TableName=desk.world.table_name, Key={name: {"S": value} for name, value in made.key.batch(1).items()}
    )

    assert desk.page(made, 1) == [ImportRow(1, NO_RECORD)]


@pytest.mark.slow
def test_next_failed_row_is_found_in_a_later_batch(desk: Desk) -> None:
    made = desk.ended("x", *[1] * 250, "y", "z")

    def after(position: int) -> int | None:
        return import_rows.next_failed(desk.stack, made, position)

    assert [after(0), after(1), after(252), after(253)] == [1, 252, 253, None]


def test_next_row_with_an_error_of_one_kind_is_found(desk: Desk) -> None:
    made = desk.ended("x", -1, "y", -1)

    assert import_rows.next_failed(desk.stack, made, 0, "OutOfRange", "price") == 2
    assert import_rows.next_failed(desk.stack, made, 2, "OutOfRange", "price") == 4
    assert import_rows.next_failed(desk.stack, made, 0, "OutOfRange", "name") is None


@pytest.mark.slow
def test_page_and_search_handle_rows_of_empty_cells(desk: Desk) -> None:
    """There are more of them than a batch has rows, before and between the batches."""
    rows = [f"p{number},n,tea,{'x' if number == 500 else 1},JPY\n" for number in range(1, 501)]
    blank = {*range(1, 151), *range(200, 401)}
    content = "".join(",,,,\n" if number in blank else row for number, row in enumerate(rows, start=1))
    made = desk.world.made(desk.world.run(HEADER + content))

    assert made.total_rows == 500 - len(blank)
    for first in (1, 140, 350, 420):
        assert [(row.position, row.state == EMPTY) for row in desk.page(made, first)] == [
            (number, number in blank) for number in range(first, min(first + 100, 501))
        ]
    assert import_rows.next_failed(desk.stack, made, 170) == 500
