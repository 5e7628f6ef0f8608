"""Orders of a day that belongs to one test, and their report."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from idempotency.codec import to_item
from stepwise.operations import report
from stepwise.operations.stack import Row, Stack
from tests.kit.belongings import RUN, Belongings
from tests.kit.history import History, Line, Record, recount
from tests.kit.injection import Resources
from tests.kit.local_stack import Document


@dataclass(frozen=True)
class Day:
    """The test's own day, and so its own report lines."""

    stack: Stack
    begin: datetime
    belongings: Belongings
    order_ids: set[str] = field(default_factory=set)

    @property
    def name(self) -> str:
        return self.begin.date().isoformat()

    def order_id(self, name: str) -> str:
        return f"{RUN}-{self.name}-{name}"

    def history(self) -> History:
        return History(begin=self.begin)

    def records(self, history: History) -> list[Record]:
        """The records of a history, for direct invocations of the function."""
        for image in (record["dynamodb"].get("NewImage") for record in history.records):
            if image:
                self.belongings.counted(image["order_id"]["S"], image["created_at"]["S"])
        return history.records

    def order(self, name: str, **values: Any) -> Document:
        """A row of Orders, written unchanged."""
        return {
            "order_id": self.order_id(name),
            "customer_id": RUN,
            "currency": "JPY",
            "total": 1000,
            "status": "New",
            "created_at": self.begin.isoformat(),
            "created_ymd": self.name,
            "revision": 1,
            **values,
        }

    def write(self, *rows: Document) -> None:
        for row in rows:
            self.order_ids.add(row["order_id"])
            self.belongings.orders.add(row["order_id"])
            if "created_at" in row:
                self.belongings.counted(row["order_id"], row["created_at"])
            self.stack.dynamodb.put_item(TableName=self.stack.outputs["OrdersTable"], Item=to_item(row))

    def lines(self) -> dict[Line, tuple[int, int]]:
        """(orders, revenue) by line, of this day."""
        found = report.lines(self.stack, self.name)
        return {(self.name, line.status, line.currency): (line.orders, line.amount) for line in found}

    def rows(self) -> list[Row]:
        """The existing orders."""
        found = (self.stack.row("OrdersTable", order_id=order_id) for order_id in sorted(self.order_ids))
        return [row for row in found if row and "revision" in row]

    def recounted(self) -> dict[Line, tuple[int, int]]:
        """The expected `lines`, from the rows of Orders."""
        return recount(self.rows()).lines

    def counted(self) -> bool:
        return self.lines() == self.recounted()


@pytest.fixture
def day(stack: Stack, belongings: Belongings) -> Day:
    while True:
        begin = datetime(2031, 1, 1, tzinfo=UTC) + timedelta(days=random.randrange(20_000))  # noqa: S311
        chosen = Day(stack, begin, belongings)
        if not report.rows(stack, chosen.name):
            belongings.days.add(chosen.name)
            return chosen


def kept(stack: Stack, order_id: str) -> list[Record]:
    """The records of an order in the bucket of failed records."""
    s3, bucket = stack.client("s3"), stack.outputs["FailedRecordsBucket"]
    keys = [one["Key"] for one in s3.list_objects_v2(Bucket=bucket, Prefix="aws/lambda/").get("Contents", [])]
    documents = [json.loads(s3.get_object(Bucket=bucket, Key=key)["Body"].read()) for key in keys]
    records = [record for document in documents for record in json.loads(document["payload"])["Records"]]
    return [record for record in records if record["dynamodb"]["Keys"]["order_id"]["S"] == order_id]


@contextmanager
def mapping(stack: Stack, resources: Resources, **settings: Any) -> Iterator[None]:
    """Change the event source mapping for a while."""
    client, name = stack.client("lambda"), resources["ReportOrdersFunction"]
    (before,) = client.list_event_source_mappings(FunctionName=name)["EventSourceMappings"]
    client.update_event_source_mapping(UUID=before["UUID"], **settings)
    try:
        yield
    finally:
        usual = {key: before[key] for key in settings if key in before}
        client.update_event_source_mapping(UUID=before["UUID"], **usual, Enabled=True)
