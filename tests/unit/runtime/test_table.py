"""Access to one table, and the common parts of its rows."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any, ClassVar

import pytest

from idempotency.codec import from_item
from runtime.rows import Row, Status
from runtime.table import NEW, Table
from tests.kit.commands import new_tables
from tests.unit import dynamodb

KEY = {"pk": "TENANT#t", "sk": "TASK#1"}


class Documents(Table):
    FRACTIONS: ClassVar = True


@dataclass(frozen=True)
class Thing(Row):
    values: Mapping[str, Any]


@pytest.fixture
def table() -> Table:
    client = dynamodb.client()
    (name,) = new_tables(client, "tasks")
    return Table(client, name)


def values(table: Table) -> dict[str, Any] | None:
    row = table.row(KEY)
    return from_item(row) if row else None


def test_new_row_is_put_once(table: Table) -> None:
    assert table.put({**KEY, "number": 1}).applied
    again = table.put({**KEY, "number": 2})

    assert (again.applied, from_item(again.old or {})["number"]) == (False, 1)
    assert values(table) == {**KEY, "number": 1}


def test_update_says_whether_its_condition_held(table: Table) -> None:
    table.put({**KEY, "number": 1, "old": True})
    change = {"computed": {"number": "#number + :one"}, "remove": ["old"], "values": {"one": 1, "seen": 1}}

    assert table.update(KEY, "#number = :seen", {"text": "a"}, **change)
    assert not table.update(KEY, "#number = :seen", {"text": "b"}, **change)
    assert values(table) == {**KEY, "number": 2, "text": "a"}


def test_transaction_writes_all_or_nothing(table: Table) -> None:
    other = {**KEY, "sk": "TASK#2"}
    actions = [table.put_action({**KEY, "number": 1}, NEW), table.put_action({**other, "number": 2})]

    assert table.transact(actions) is None
    refused = table.transact([table.delete_action(other), table.check_action(KEY, "#number = :two", {"two": 2})])
    assert refused is not None
    assert list(refused.refusals) == [1]
    assert None not in table.rows(KEY, other)
    assert table.transact([table.delete_action(KEY, "#number = :one", {"one": 1}), table.delete_action(other)]) is None
    assert table.rows(KEY, other) == [None, None]


def test_read_partition_reads_a_partition_in_order(table: Table) -> None:
    for sk in ("TASK#2", "TASK#1", "TASK#3", "CLAIM#1"):
        table.put({**KEY, "sk": sk})

    assert [row["sk"]["S"] for row in table.read_partition(KEY["pk"], "TASK#", page=2)] == [
        "TASK#1",
        "TASK#2",
        "TASK#3",
    ]


def test_read_index_reads_a_sparse_index(table: Table) -> None:
    table.put({**KEY, "open_since": "2026-11-22T09:00:00+00:00"})
    table.put({**KEY, "sk": "TASK#2"})

    assert [row["sk"]["S"] for row in table.read_index("open_since")] == ["TASK#1"]


def test_only_a_table_of_documents_stores_fractions(table: Table) -> None:
    with pytest.raises(TypeError, match="float"):
        table.put({**KEY, "price": 1.5})

    assert Documents(table.client, table.name).put({**KEY, "price": 1.5}).applied
    assert values(table) == {**KEY, "price": 1.5}


@pytest.mark.parametrize("status", Status)
def test_ended_row_is_final(status: Status) -> None:
    assert Thing({"status": str(status)}).final is (status not in (Status.CREATED, Status.PROCESSING))


def test_row_expires_to_the_second() -> None:
    at = datetime(2026, 11, 22, 9, tzinfo=UTC)
    thing = Thing({"expires_at": int(at.timestamp()), "open_since": at.isoformat()})

    assert thing.expired(at)
    assert not thing.expired(at.replace(hour=8))
    assert thing.open_since == at
    assert Thing({}).open_since is None
