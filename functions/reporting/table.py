"""Every write to the Reports table and to the records of what it counts."""

import zlib
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from idempotency import Action
from idempotency.codec import to_item

from .change import Change, Contribution

# Write shards of a report's line, so that concurrent changes rarely conflict on one row.
PARTS = 16

type Line = tuple[str, str, str]


@dataclass(frozen=True, slots=True)
class Counted:
    """The counted state of an order. contribution: None if the order was deleted."""

    version: int
    contribution: Contribution | None


@dataclass(frozen=True, slots=True)
class ReportsTable:
    """Builds the transaction of a change.

    name: the table of the reports (`day`, `line`). records: the table of step records, where one record per order
    holds its counted state.
    """

    name: str
    records: str

    def count(self, change: Change, standing: Contribution | None) -> list[Action]:
        """Subtract what was counted for the order, and add what it adds now.

        standing: the expected record; nothing is written if the record differs, or if it has counted
        this change or a later one.
        """
        return [self._record(change, standing), *self._moves(change, standing)]

    def _record(self, change: Change, standing: Contribution | None) -> Action:
        later = "(attribute_not_exists(version) OR version < :version)"
        as_expected = "contribution = :standing" if standing else "attribute_not_exists(contribution)"
        contribution = {"contribution": asdict(change.after)} if change.after else {}
        expected = {":standing": asdict(standing)} if standing else {}
        return {
            "Put": {
                "TableName": self.records,
                "Item": to_item(
                    {
                        # A record belongs to one reports table, so its key names the table.
                        "pk": f"{change.order_id}#{self.name}#{change.created_at}",
                        "version": change.version,
                        "event_id": change.event_id,
                        **contribution,
                    }
                ),
                "ConditionExpression": f"{later} AND {as_expected}",
                "ExpressionAttributeValues": to_item({":version": change.version, **expected}),
            }
        }

    def _moves(self, change: Change, standing: Contribution | None) -> Iterator[Action]:
        orders: Counter[Line] = Counter()
        revenue: Counter[Line] = Counter()
        for sign, contribution in ((-1, standing), (1, change.after)):
            if contribution:
                line = (contribution.day, contribution.status, contribution.currency)
                orders[line] += sign
                revenue[line] += sign * contribution.total
        for line, count in orders.items():
            if count or revenue[line]:
                yield self._add(change.order_id, line, count, revenue[line])

    def _add(self, order_id: str, line: Line, orders: int, revenue: int) -> Action:
        day, status, currency = line
        part = zlib.crc32(order_id.encode()) % PARTS
        return {
            "Update": {
                "TableName": self.name,
                "Key": to_item({"day": day, "line": f"{status}#{currency}#{part:02d}"}),
                "UpdateExpression": "SET #status = :status, currency = :currency ADD orders :orders, revenue :revenue",
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": to_item(
                    {":status": status, ":currency": currency, ":orders": orders, ":revenue": revenue}
                ),
            }
        }


def counted(record: Mapping[str, Any]) -> Counted:
    """Read an order's record, in DynamoDB JSON."""
    kept = record.get("contribution", {}).get("M")
    return Counted(int(record["version"]["N"]), _contribution(kept) if kept else None)


def _contribution(kept: Mapping[str, Any]) -> Contribution:
    return Contribution(kept["day"]["S"], kept["status"]["S"], kept["currency"]["S"], int(kept["total"]["N"]))
