"""A saga with one step, and the rows that it leaves."""

import json
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from idempotency import Action, Step, StepStore
from stepwise.operations.stack import plain
from tests.store.database import Database, Row
from tests.store.wire import Wire

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Document = Mapping[str, Any]

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
LATER = AT + timedelta(minutes=5)
LIFETIME = timedelta(days=30)

A: Document = {"seats": 2, "row": "C"}
B: Document = {"seats": 3, "row": "C"}
BOOKED: Document = {"booking": "b-1", "price": 4200, "note": "席", "open": None}


class Found(NamedTuple):
    """All rows of one saga at one time. tally: the number of times T landed and was undone."""

    record: Row
    booking: Row
    tally: Row


@dataclass(frozen=True)
class Saga:
    """A saga with the one step BookSeats: T counts and inserts a booking, C counts and releases it.

    Counting has no condition, so a write that lands twice is visible.
    """

    database: Database
    client: "DynamoDBClient"
    id: str = field(default_factory=lambda: f"s-{uuid.uuid4().hex}")
    lifetime: timedelta = LIFETIME

    def commit(
        self,
        payload: Document = A,
        result: Document = BOOKED,
        *,
        owner: str = "t-1",
        at: datetime = AT,
        after: Sequence[str] = (),
        booking: Document | None = None,
    ) -> Any:
        """Run T. booking: its row's content, if not the payload."""
        writes = self._writes(booking or payload)
        return self._store.commit(self._step(payload, owner, at), writes, result, after=after)

    def compensate(
        self,
        payload: Document = A,
        *,
        owner: str = "c-1",
        at: datetime = LATER,
        outside: Callable[[], None] | None = None,
    ) -> Any:
        """Run C."""
        return self._store.compensate(
            self._step(payload, owner, at),
            undo=[self._count("undone"), self._release()],
            absence=[self._absent()],
            outside=outside,
            stands=[self._stands()],
        )

    def find(self, payload: Document = A, *, after: Sequence[str] = ()) -> Any:
        """Find T's result."""
        return self._store.find(self._step(payload, "t-1", AT), absence=[self._absent()], after=after)

    def bar(self, name: str = "BookSeats") -> None:
        """Bar a step that has not happened."""
        self._store.bar([Step(self.id, name, None, "f-1", LATER)], [self._absent()])

    def seal(self, *, at: datetime = LATER) -> None:
        """Bar C forever, and count it."""
        self._store.seal(self.id, ["BookSeats"], [self._count("sealed")], at)

    @property
    def status(self) -> str | None:
        """The status of the step's record."""
        record = self.found().record
        return record["status"] if record else None

    def found(self) -> Found:
        """Read everything, in one transaction of plain boto3."""
        keys = [(self.database.records, self.record_key)]
        keys += [(self.database.bookings, key) for key in (self.booking_key, self.tally_key)]
        gets: Any = [{"Get": {"TableName": table, "Key": {"pk": {"S": key}}}} for table, key in keys]
        items = [row.get("Item") for row in self.client.transact_get_items(TransactItems=gets)["Responses"]]
        return Found(*(dict(plain(item)) if item else None for item in items))

    def put_booking(self, **attributes: str) -> None:
        """Insert a booking without a step."""
        item: Any = {"pk": {"S": self.booking_key}} | {name: {"S": value} for name, value in attributes.items()}
        self.client.put_item(TableName=self.database.bookings, Item=item)

    def delete_record(self) -> None:
        self.client.delete_item(TableName=self.database.records, Key={"pk": {"S": self.record_key}})

    def forgets(self, attribute: str) -> None:
        """Remove an attribute of the record, as if written by a release that does not know it."""
        self.database.forget(self.client, self.record_key, attribute)

    def delete_booking(self) -> None:
        self.client.delete_item(TableName=self.database.bookings, Key={"pk": {"S": self.booking_key}})

    def over(self, wire: Wire, *, attempts: int = 1) -> "Saga":
        """The same saga, called over a wire."""
        return Saga(self.database, wire.client(self.database, attempts=attempts), self.id, self.lifetime)

    @property
    def record_key(self) -> str:
        return f"{self.id}#BookSeats"

    @property
    def booking_key(self) -> str:
        return f"BOOKING#{self.id}"

    @property
    def tally_key(self) -> str:
        return f"TALLY#{self.id}"

    @property
    def _store(self) -> StepStore:
        return StepStore(self.client, self.database.records, lifetime=self.lifetime)

    def _step(self, payload: Document, owner: str, at: datetime) -> Step:
        return Step(self.id, "BookSeats", payload, owner, at)

    def _writes(self, payload: Document) -> list[Action]:
        booking = {"pk": self.booking_key, "status": "Booked", "payload": json.dumps(payload)}
        put = {
            "TableName": self.database.bookings,
            "Item": {name: {"S": value} for name, value in booking.items()},
            "ConditionExpression": "attribute_not_exists(pk)",
        }
        return [self._count("landed"), {"Put": put}]

    def _release(self) -> Action:
        update = self._booking() | {
            "UpdateExpression": "SET #status = :released",
            "ConditionExpression": "#status = :booked",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": {":booked": {"S": "Booked"}, ":released": {"S": "Released"}},
        }
        return {"Update": update}

    def _absent(self) -> Action:
        return {"ConditionCheck": self._booking() | {"ConditionExpression": "attribute_not_exists(pk)"}}

    def _stands(self) -> Action:
        check = self._booking() | {
            "ConditionExpression": "#status = :booked",
            "ExpressionAttributeNames": {"#status": "status"},
            "ExpressionAttributeValues": {":booked": {"S": "Booked"}},
        }
        return {"ConditionCheck": check}

    def _count(self, what: Literal["landed", "undone", "sealed"]) -> Action:
        update = {
            "TableName": self.database.bookings,
            "Key": {"pk": {"S": self.tally_key}},
            "UpdateExpression": f"ADD {what} :one",
            "ExpressionAttributeValues": {":one": {"N": "1"}},
        }
        return {"Update": update}

    def _booking(self) -> dict[str, Any]:
        return {"TableName": self.database.bookings, "Key": {"pk": {"S": self.booking_key}}}


def booked(saga: Saga, *, landed: int = 1) -> tuple[Row, Row]:
    """Booking and tally after T."""
    booking: Row = {"pk": saga.booking_key, "status": "Booked", "payload": json.dumps(A)}
    return booking, {"pk": saga.tally_key, "landed": landed}
