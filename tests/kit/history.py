"""Changing orders, and the stream records that DynamoDB writes for the changes."""

import itertools
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

from idempotency.codec import to_item

type Record = dict[str, Any]
type Line = tuple[str, str, str]

STREAM = "arn:aws:dynamodb:us-east-1:000000000000:table/Orders/stream/2026-11-20T00:00:00.000"
TIME_TO_LIVE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


@dataclass
class Report:
    """A report: orders and revenue by day, status and currency, without empty lines."""

    orders: Counter[Line] = field(default_factory=Counter)
    revenue: Counter[Line] = field(default_factory=Counter)

    def add(self, image: Mapping[str, Any]) -> None:
        line = (image["created_ymd"], image["status"], image["currency"])
        self.orders[line] += 1
        self.revenue[line] += int(image["total"])

    @property
    def lines(self) -> dict[Line, tuple[int, int]]:
        """(orders, revenue) by line."""
        found = {line: (self.orders[line], self.revenue[line]) for line in self.orders}
        return {line: sums for line, sums in found.items() if sums != (0, 0)}


def report(rows: list[dict[str, Any]]) -> Report:
    """The rows of the Reports table, with write shards summed."""
    summed = Report()
    for row in rows:
        line = (row["day"], row["status"], row["currency"])
        summed.orders[line] += int(row["orders"])
        summed.revenue[line] += int(row["revenue"])
    return summed


def recount(rows: list[dict[str, Any]]) -> Report:
    """The expected report of these orders."""
    counted = Report()
    for row in rows:
        counted.add(row)
    return counted


@dataclass
class History:
    """The Orders table in memory. begin: when its first order is placed. records: its stream, in order."""

    begin: datetime = datetime(2026, 11, 20, 23, 59, 58, tzinfo=UTC)
    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    expired: list[dict[str, Any]] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    _numbers: Any = field(default_factory=lambda: itertools.count(1))

    def place(self, order_id: str, *, total: int = 3000, currency: str = "JPY", status: str = "New") -> Record:
        """Insert the order, unless it exists."""
        at = self.begin + timedelta(seconds=len(self.records))
        row = {
            "order_id": order_id,
            "currency": currency,
            "total": total,
            "status": status,
            "created_at": at.isoformat(),
            "created_ymd": at.date().isoformat(),
            "revision": 1,
        }
        return self._moved(order_id, None, row)

    def change(self, order_id: str, **values: Any) -> Record:
        """Change attributes and raise the revision, as every writer must. Without values: a replay."""
        old = self.rows[order_id]
        return self._moved(order_id, old, {**old, **values, "revision": old["revision"] + 1})

    def write(self, order_id: str, row: dict[str, Any]) -> Record:
        """Write a row unchanged, as a person might."""
        return self._moved(order_id, self.rows.get(order_id), row)

    def delete(self, order_id: str) -> Record:
        return self._moved(order_id, self.rows[order_id], None)

    def expire(self, order_id: str) -> Record:
        """Delete the order as DynamoDB's TTL does."""
        self.expired.append(self.rows[order_id])
        record = self.delete(order_id)
        record["userIdentity"] = TIME_TO_LIVE
        return record

    def recount(self) -> Report:
        """The expected report: existing and expired orders."""
        return recount([*self.rows.values(), *self.expired])

    def _moved(self, order_id: str, old: dict[str, Any] | None, new: dict[str, Any] | None) -> Record:
        number = next(self._numbers)
        images = {"OldImage": old, "NewImage": new}
        if new is None:
            del self.rows[order_id]
        else:
            self.rows[order_id] = new
        record = {
            "eventID": f"{number:032x}",
            "eventName": "INSERT" if old is None else "REMOVE" if new is None else "MODIFY",
            "eventVersion": "1.1",
            "eventSource": "aws:dynamodb",
            "awsRegion": "us-east-1",
            "dynamodb": {
                "ApproximateCreationDateTime": int(self.begin.timestamp()) + number,
                "Keys": to_item({"order_id": order_id}),
                **{name: to_item(image) for name, image in images.items() if image is not None},
                "SequenceNumber": f"{820400000000000001192334 + number}",
                "SizeBytes": 512,
                "StreamViewType": "NEW_AND_OLD_IMAGES",
            },
            "eventSourceARN": STREAM,
        }
        self.records.append(record)
        return record
