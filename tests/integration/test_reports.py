"""Reports on the deployed stack, from a write to Orders through the stream and the function to the counters."""

from collections.abc import Callable
from typing import Any

import pytest

from idempotency.codec import to_item
from stepwise.operations.stack import Stack
from tests.integration.test_permissions import TABLES, as_role, is_refused
from tests.kit.belongings import Belongings
from tests.kit.day import Day, day, kept, mapping
from tests.kit.injection import Resources, denied, eventually
from tests.kit.local_stack import Document, Saga

__all__ = ["day"]

SECONDS = 60


# --- through the stream ---


def test_order_is_counted_in_its_final_state(
    run: Callable[..., Saga], order: Document, stack: Stack, belongings: Belongings
) -> None:
    row = run(order).view.order
    assert row is not None
    record = belongings.counted(order["order_id"], row["created_at"])

    def counted_as() -> Any:
        contribution = (stack.row(record.table, pk=record.key) or {}).get("contribution", {})
        return contribution.get("status")

    eventually(lambda: counted_as() == "Confirmed", seconds=SECONDS)


def test_every_write_moves_the_counters(day: Day) -> None:
    rows = [day.order(str(number), total=100 * number) for number in range(12)]
    day.write(*rows)
    eventually(day.counted, seconds=SECONDS)
    for row in rows[:4]:
        day.write({**row, "status": "Confirmed", "revision": 2})
    day.write({**rows[4], "total": 7, "currency": "EUR", "revision": 2})
    _delete(day, rows[5])
    eventually(day.counted, seconds=SECONDS)
    assert day.lines()[(day.name, "Confirmed", "JPY")] == (4, 600)


@pytest.mark.parametrize("place", [0, 2, 4], ids=["first", "in the middle", "last"])
def test_poison_record_is_kept_in_full_and_does_not_block_others(
    day: Day, stack: Stack, resources: Resources, place: int
) -> None:
    rows = [day.order(str(number)) for number in range(4)]
    poison = {name: value for name, value in day.order("poison").items() if name != "revision"}
    with mapping(stack, resources, MaximumRetryAttempts=1):
        with mapping(stack, resources, Enabled=False):
            day.write(*rows[:place], poison, *rows[place:])
        eventually(lambda: day.counted() and len(kept(stack, poison["order_id"])) == 1, seconds=SECONDS)
    (record,) = kept(stack, poison["order_id"])
    assert record["dynamodb"]["NewImage"] == to_item(poison)
    assert day.lines() == {(day.name, "New", "JPY"): (4, 4000)}


@pytest.mark.local_only("raise an alarm if they fail")
def test_row_without_an_order_does_not_invoke_the_function(day: Day, stack: Stack) -> None:
    note, order = {"order_id": day.order_id("note"), "text": "not an order"}, day.order("1")
    day.write(note, order)
    eventually(day.counted, seconds=SECONDS)
    assert kept(stack, note["order_id"]) == []


def test_records_wait_until_access_is_granted(day: Day, stack: Stack, resources: Resources) -> None:
    with denied(stack, resources, "ReportOrders"):
        day.write(day.order("1"))
        function = resources["ReportOrdersFunction"]
        client = stack.client("lambda")

        def failing() -> bool:
            (mapped,) = client.list_event_source_mappings(FunctionName=function)["EventSourceMappings"]
            return "PROBLEM" in mapped["LastProcessingResult"]

        eventually(failing, seconds=SECONDS)
    eventually(day.counted, seconds=SECONDS)
    assert kept(stack, day.order("1")["order_id"]) == []


# --- the function alone ---


def test_function_can_only_read_and_write_its_own_data(stack: Stack, resources: Resources) -> None:
    role = as_role(stack, resources["ReportOrdersRole"])
    for table, key in TABLES.items():
        name, row = stack.outputs[table], {key: {"S": "x"}}
        is_refused(role.get_item, TableName=name, Key=row)
        is_refused(role.delete_item, TableName=name, Key=row)
        is_refused(role.update_item, TableName=name, Key=row)
        if table != "IdempotencyTable":
            is_refused(role.put_item, TableName=name, Item=row)
    reports, line = stack.outputs["ReportsTable"], {"day": {"S": "x"}, "line": {"S": "x"}}
    is_refused(role.get_item, TableName=reports, Key=line)
    is_refused(role.put_item, TableName=reports, Item=line)
    is_refused(role.delete_item, TableName=reports, Key=line)


def _delete(day: Day, row: Document) -> None:
    key = to_item({"order_id": row["order_id"]})
    day.stack.dynamodb.delete_item(TableName=day.stack.outputs["OrdersTable"], Key=key)
