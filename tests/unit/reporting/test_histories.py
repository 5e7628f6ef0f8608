"""Whatever the delivery of the stream, the reports equal a recount of the orders."""

import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reporting.change import RevisionNotRaised, read_change
from reporting.counting import Reports
from reporting.table import ReportsTable
from stepwise.operations.stack import plain
from tests.kit.engines import in_process
from tests.kit.history import History, Record, Report, report

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

ORDERS = ["o-1", "o-2", "o-3"]


@dataclass(frozen=True)
class Counting:
    """Forwards transactions and records them in `calls`; supports nothing else."""

    client: "DynamoDBClient"
    calls: list[Any]

    def transact_write_items(self, *, TransactItems: Any) -> Any:
        self.calls.append(TransactItems)
        return self.client.transact_write_items(TransactItems=TransactItems)

    def batch_get_item(self, **_: Any) -> Any:
        raise AssertionError("nothing is ever read")


@dataclass(frozen=True)
class ReadModel:
    """A separate report in shared tables: its lines, and its number of calls."""

    client: "DynamoDBClient"
    counting: Counting
    reports: Reports

    def deliver(self, record: Record) -> bool:
        return self.reports.apply(read_change(record))

    def deliver_all(self, records: list[Record]) -> None:
        for record in records:
            self.deliver(record)

    @property
    def calls(self) -> int:
        return len(self.counting.calls)

    def report(self) -> Report:
        pages = self.client.get_paginator("scan").paginate(TableName=self.reports.table.name, ConsistentRead=True)
        return report([plain(item) for page in pages for item in page["Items"]])


@pytest.fixture(scope="module")
def read_model() -> Callable[[], ReadModel]:
    client = in_process.ministack().client()
    _create_table(client, "records", "pk")

    def make() -> ReadModel:
        name, counting = f"reports-{uuid.uuid4().hex[:12]}", Counting(client, [])
        _create_table(client, name, "day", "line")
        return ReadModel(client, counting, Reports(counting, ReportsTable(name, "records")))

    return make


def _create_table(client: "DynamoDBClient", name: str, *key: str) -> None:
    client.create_table(
        TableName=name,
        KeySchema=[
            {"AttributeName": part, "KeyType": kind} for part, kind in zip(key, ("HASH", "RANGE"), strict=False)
        ],
        AttributeDefinitions=[{"AttributeName": part, "AttributeType": "S"} for part in key],
        BillingMode="PAY_PER_REQUEST",
    )


# --- histories ---

WRITES = st.sampled_from(["place", "confirm", "pend", "replay", "amend", "delete", "expire", "put back"])


@st.composite
def histories(draw: st.DrawFn) -> History:
    """Up to 14 writes to three orders, including both kinds of deletion, new lives, replays and restored backups."""
    history, backups = History(), {}
    for _ in range(draw(st.integers(1, 14))):
        order_id, write = draw(st.sampled_from(ORDERS)), draw(WRITES)
        if order_id in history.rows:
            backups[order_id] = history.rows[order_id]
            _write(history, order_id, write, total=draw(st.integers(0, 5000)))
        elif write == "put back" and order_id in backups and backups[order_id] not in history.expired:
            history.write(order_id, {**backups[order_id], "revision": backups[order_id]["revision"] + 1})
        else:
            history.place(order_id, total=draw(st.integers(0, 5000)), currency=draw(st.sampled_from(["JPY", "EUR"])))
    return history


def _write(history: History, order_id: str, write: str, *, total: int) -> None:
    match write:
        case "confirm":
            history.change(order_id, status="Confirmed")
        case "pend":
            history.change(order_id, status="Pending")
        case "amend":
            history.change(order_id, total=total)
        case "delete":
            history.delete(order_id)
        case "expire":
            history.expire(order_id)
        case _:
            history.change(order_id)


@st.composite
def deliveries(draw: st.DrawFn) -> tuple[History, list[Record]]:
    """A history, and its records in random order, each at least once."""
    history = draw(histories())
    again = draw(st.lists(st.sampled_from(history.records), max_size=10))
    return history, draw(st.permutations([*history.records, *again]))


@pytest.mark.slow
@given(delivery=deliveries())
@settings(max_examples=120, deadline=None, derandomize=True)
def test_any_order_and_any_repetition_ends_in_the_recount(
    read_model: Callable[[], ReadModel], delivery: tuple[History, list[Record]]
) -> None:
    history, delivered = delivery
    model = read_model()
    model.deliver_all(delivered)
    assert model.report().lines == history.recount().lines


@pytest.mark.slow
@given(history=histories())
@settings(max_examples=40, deadline=None, derandomize=True)
def test_record_in_order_takes_one_call_and_so_does_its_duplicate(
    read_model: Callable[[], ReadModel], history: History
) -> None:
    model = read_model()
    model.deliver_all(history.records)
    assert model.calls == len(history.records)
    assert model.report().lines == history.recount().lines
    model.deliver_all(history.records)
    assert model.calls == 2 * len(history.records)
    assert model.report().lines == history.recount().lines


# --- one by one ---


@pytest.fixture
def model(read_model: Callable[[], ReadModel]) -> ReadModel:
    return read_model()


@pytest.fixture
def history() -> History:
    orders = History()
    orders.place("o-1")
    orders.change("o-1", status="Confirmed")
    return orders


def test_two_states_of_one_revision_are_an_error(model: ReadModel, history: History) -> None:
    model.deliver_all(history.records)
    row = {**history.rows["o-1"], "total": 1}
    history.delete("o-1")
    inserted = history.write("o-1", row)
    with pytest.raises(RevisionNotRaised):
        model.deliver(inserted)
    assert model.report().lines == {("2026-11-20", "Confirmed", "JPY"): (1, 3000)}


def test_orders_of_a_line_are_spread_over_several_rows(model: ReadModel) -> None:
    history = History()
    for number in range(40):
        history.place(f"o-{number}")
    model.deliver_all(history.records)
    rows = model.client.scan(TableName=model.reports.table.name)["Items"]
    assert len(rows) > 5
    assert model.report().lines == history.recount().lines


def test_changed_total_moves_only_one_row(model: ReadModel, history: History) -> None:
    history.change("o-1", total=10)
    model.deliver_all(history.records)
    assert len(model.counting.calls[-1]) == 2
    assert model.report().lines == {("2026-11-20", "Confirmed", "JPY"): (1, 10)}


def test_replay_changes_no_report_row(model: ReadModel, history: History) -> None:
    history.change("o-1")
    model.deliver_all(history.records)
    assert len(model.counting.calls[-1]) == 1
