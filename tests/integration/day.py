"""Orders of a day that belongs to one test, and what the reports make of them."""

import json
import random
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from local.stack import Stack
from runtime.dynamodb import attributes
from tests.history import History, Line, Record, recount, report
from tests.integration.conftest import Document
from tests.integration.faults import Resources


@dataclass(frozen=True)
class Day:
    """A day of the test's own, so that its lines of the report are too."""

    stack: Stack
    begin: datetime

    @property
    def name(self) -> str:
        return self.begin.date().isoformat()

    def history(self) -> History:
        return History(begin=self.begin)

    def order(self, order_id: str, **values: Any) -> Document:
        """A row of Orders, to be written as it is."""
        return {
            "order_id": f"{self.name}-{order_id}",
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
            self.stack.dynamodb.put_item(TableName=self.stack.outputs["OrdersTable"], Item=attributes(row))

    def lines(self) -> dict[Line, tuple[int, int]]:
        """(orders, revenue) by line, of this day."""
        return report([row for row in self.stack.rows("ReportsTable") if row["day"] == self.name]).lines

    def recounted(self) -> dict[Line, tuple[int, int]]:
        """What `lines` has to be, by the rows of Orders."""
        rows = self.stack.rows("OrdersTable")
        return recount([row for row in rows if row.get("created_ymd") == self.name and "revision" in row]).lines

    def counted(self) -> bool:
        return self.lines() == self.recounted()


@pytest.fixture
def day(stack: Stack) -> Day:
    return Day(stack, datetime(2031, 1, 1, tzinfo=UTC) + timedelta(days=random.randrange(20_000)))  # noqa: S311


def kept(stack: Stack, order_id: str) -> list[Record]:
    """The records of an order in the bucket of what failed."""
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
