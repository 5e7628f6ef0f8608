"""A run compares the orders of a day with their payments, page by page, and keeps what it found in one row."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any

from msgspec import Meta, Struct, structs, to_builtins

from idempotency import Action, BusinessError, Step, StepStore
from idempotency.codec import to_item
from idempotency.dynamodb import read_rows
from idempotency.expressions import conditional_put, conditional_update

# The orders and payments of a page are read by one BatchGetItem, which reads up to 100 rows.
PAGE = 40

type Row = Mapping[str, Any]


class InvalidReconciliation(BusinessError):
    """The event of a state is malformed. The message starts with the path of the field."""


class Day(Struct, frozen=True, forbid_unknown_fields=True):
    """yesterday: the day before the execution's start, in UTC."""

    day: Annotated[str, Meta(pattern=r"^(yesterday|\d{4}-\d{2}-\d{2})\Z")]

    def at(self, started_at: datetime) -> str:
        return (started_at - timedelta(days=1)).date().isoformat() if self.day == "yesterday" else self.day


class Start(Struct, frozen=True, forbid_unknown_fields=True):
    """The last order of the previous page."""

    order_id: str
    created_at: str


class Page(Struct, frozen=True, forbid_unknown_fields=True):
    """differences: found on earlier pages."""

    day: str
    number: int = 0
    start: Start | None = None
    differences: int = 0


@dataclass(frozen=True, slots=True)
class Runs:
    """client: a `boto3.client("dynamodb")`. orders, payments, table: names; `table` has one row for each run."""

    client: Any
    steps: StepStore
    orders: str
    payments: str
    table: str

    def open(self, step: Step, day: str) -> Row:
        """Write the run's row. Returns its first page. Raises as `StepStore.commit`."""
        row = {"run": step.saga_id, "day": day, "pages": 0, "orders": 0, "differences": []}
        put = conditional_put(self.table, row, "attribute_not_exists(#run)", {})
        return self.steps.commit(step, [{"Put": put}], to_builtins(Page(day)))

    def compare(self, step: Step, page: Page) -> Row:
        """Compare a page of orders, once. Returns a status and the next page. Raises as `StepStore.commit`.

        WAITING: an order of the page is not final, and nothing was written. MORE: there may be more pages. DIFFERENT or
        CLEAN: this was the last.
        """
        order_ids, last = self._listed(page)
        pairs = self._read(order_ids)
        if any(_text(order, "status") == "New" for order, _ in pairs):
            return {"status": "WAITING", "page": to_builtins(page)}
        found = [_text(order, "order_id") for order, payment in pairs if _differ(order, payment)]
        total = page.differences + len(found)
        following = structs.replace(page, number=page.number + 1, start=last, differences=total)
        status = "MORE" if last else "DIFFERENT" if total else "CLEAN"
        result = {"status": status, "page": to_builtins(following)}
        return self.steps.commit(step, [self._add(step.saga_id, page.number, len(pairs), found)], result)

    def _listed(self, page: Page) -> tuple[list[str], Start | None]:
        start = to_item({"created_ymd": page.day, **to_builtins(page.start)}) if page.start else None
        response = self.client.query(
            TableName=self.orders,
            IndexName="created_ymd",
            KeyConditionExpression="created_ymd = :day",
            ExpressionAttributeValues={":day": {"S": page.day}},
            Limit=PAGE,
            **({"ExclusiveStartKey": start} if start else {}),
        )
        end = response.get("LastEvaluatedKey")
        last = Start(_text(end, "order_id"), _text(end, "created_at")) if end else None
        return [_text(item, "order_id") for item in response["Items"]], last

    def _read(self, order_ids: Sequence[str]) -> list[tuple[Row, Row | None]]:
        """The orders that still exist, each with its payment."""
        if not order_ids:
            return []
        keys = [{"order_id": order_id} for order_id in order_ids]
        wanted = [(table, key) for table in (self.orders, self.payments) for key in keys]
        rows = read_rows(self.client, wanted)
        pairs = zip(rows[: len(keys)], rows[len(keys) :], strict=True)
        return [(order, payment) for order, payment in pairs if order]

    def _add(self, run: str, number: int, orders: int, found: Sequence[str]) -> Action:
        update = conditional_update(
            self.table,
            {"run": run},
            condition="#pages = :number",
            assign={"pages": number + 1},
            computed={"orders": "#orders + :orders", "differences": "list_append(#differences, :found)"},
            values={"number": number, "orders": orders, "found": list(found)},
        )
        return {"Update": update}


def _differ(order: Row, payment: Row | None) -> bool:
    """Compare the two: a confirmed order must have a captured payment of its total, any other order none."""
    captured = payment if payment and _text(payment, "status") == "Captured" else None
    if _text(order, "status") != "Confirmed" or not captured:
        return (_text(order, "status") == "Confirmed") != bool(captured)
    return (captured["amount"], captured["currency"]) != (order["total"], order["currency"])


def _text(row: Row, name: str) -> str:
    return str(row[name]["S"])
