"""A kind of work with effects outside DynamoDB, and its owners."""

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

import pytest

from idempotency import Action, BusinessError, Lease, LeaseOperations, LeaseStore, Unknown, Work
from tests.store.database import Database, Row
from tests.store.wire import Wire

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

    from idempotency import LeaseRecord

AT = datetime(2026, 11, 21, 9, 30, tzinfo=UTC)
LIFETIME = timedelta(days=30)
INVOCATION = timedelta(seconds=60)
"""The timeout of an invocation."""
MARGIN = timedelta(seconds=1)
"""The extra duration of a lease."""

ORDER: Mapping[str, Any] = {"amount": 4200, "card": "tok_visa"}
RESPELLED_ORDER: Mapping[str, Any] = {**ORDER, "amount": 4200.0}
OTHER_ORDER: Mapping[str, Any] = {"amount": 9900, "card": "tok_visa"}
CHARGED: Mapping[str, Any] = {"charge": "ch-1", "note": "席", "fee": None}


class Declined(BusinessError):
    """The card is declined: final."""


class StolenCard(Declined):
    """A particular way to be declined."""


class Unreachable(Exception):
    """The gateway was not reached: it cannot have taken effect."""


class AnswerLost(Exception):
    """The gateway was reached and did not answer: the outcome is unknown."""


RUN_AGAIN = Work("Charge", Unknown.RUN_AGAIN, final=(Declined,), harmless=(Unreachable,))
RESOLVE = replace(RUN_AGAIN, unknown=Unknown.RESOLVE)
HOLD = replace(RUN_AGAIN, unknown=Unknown.HOLD)
NEVER = replace(RUN_AGAIN, unknown=Unknown.NEVER)
POLICIES = (RUN_AGAIN, RESOLVE, HOLD, NEVER)
every_policy = pytest.mark.parametrize("work", POLICIES, ids=lambda work: work.unknown.name)


def must_not_run(*_: Any) -> Any:
    """Work, or a resolver, that must not be called."""
    raise AssertionError("the work or its resolver was called again")


@dataclass(frozen=True)
class Context:
    """The parts of Lambda's context object that leases read."""

    milliseconds: int = 30_000

    def get_remaining_time_in_millis(self) -> int:
        return self.milliseconds


@dataclass
class Clock:
    """A clock that a test moves."""

    now: datetime = AT
    slept: list[float] = field(default_factory=list)

    def __call__(self) -> datetime:
        return self.now

    def go(self, by: timedelta) -> None:
        self.now += by

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.go(timedelta(seconds=seconds))


@dataclass
class Charge:
    """The work `Charge` under one key. By default it runs again when its outcome is unknown."""

    database: Database
    client: "DynamoDBClient"
    work: Work = RUN_AGAIN
    clock: Clock = field(default_factory=Clock)
    lifetime: timedelta = LIFETIME
    id: str = field(default_factory=lambda: f"o-{uuid.uuid4().hex}")

    @property
    def store(self) -> LeaseStore:
        return LeaseStore(
            self.client, self.database.records, lifetime=self.lifetime, clock=self.clock, sleep=self.clock.sleep
        )

    @property
    def operators(self) -> LeaseOperations:
        return LeaseOperations(self.client, self.database.records, lifetime=self.lifetime, clock=self.clock)

    @property
    def deadline(self) -> datetime:
        """The time at which an invocation that starts now times out."""
        return self.clock.now + INVOCATION

    @property
    def key(self) -> str:
        return self.work.record_key(self.id)

    def lease(self, payload: Any = ORDER, *, work: Work | None = None, wait: timedelta = timedelta(0)) -> Lease:
        """Acquire the lease of an invocation that starts now."""
        return self.store.lease(work or self.work, self.id, payload, deadline=self.deadline, wait=wait)

    def run(self, function: Callable[[Lease], Any], payload: Any = ORDER, **more: Any) -> Any:
        """Run an invocation that starts now, with the work in a function."""
        return self.store.run(self.work, self.id, payload, function, deadline=self.deadline, **more)

    def over(self, wire: Wire, *, attempts: int = 1) -> "Charge":
        """The same work and clock, over a wire."""
        return replace(self, client=wire.client(self.database, attempts=attempts))

    def under(self, work: Work) -> "Charge":
        """The same key under another policy."""
        return replace(self, work=work)

    @property
    def row(self) -> Row:
        """The record, read by plain boto3."""
        return self.database.row(self.client, self.database.records, self.key)

    @property
    def status(self) -> Any:
        return (self.row or {}).get("status")

    @property
    def record(self) -> "LeaseRecord":
        """The record for operators. Raises ValueError if there is none."""
        (found,) = self.operators.find(self.id, [self.work.name])
        return found

    @property
    def writes(self) -> list[Action]:
        """Business writes: a new booking, and an unconditional count, which reveals a second landing."""
        table = self.database.bookings
        new = {"Item": self._row("BOOKING"), "ConditionExpression": "attribute_not_exists(pk)"}
        count = {"UpdateExpression": "ADD landed :one", "ExpressionAttributeValues": {":one": {"N": "1"}}}
        return [
            {"Put": {"TableName": table, **new}},
            {"Update": {"TableName": table, "Key": self._row("TALLY"), **count}},
        ]

    @property
    def landed(self) -> int:
        """The number of times that the business writes landed."""
        tally = self.database.row(self.client, self.database.bookings, f"TALLY#{self.id}") or {}
        return int(str(tally.get("landed", 0)))

    def book(self) -> None:
        """Insert the booking for another owner."""
        self.client.put_item(TableName=self.database.bookings, Item=self._row("BOOKING"))

    def cancel_booking(self) -> None:
        self.client.delete_item(TableName=self.database.bookings, Key=self._row("BOOKING"))

    def _row(self, kind: str) -> Any:
        return {"pk": {"S": f"{kind}#{self.id}"}}

    def delete(self) -> None:
        """Delete the record, as DynamoDB eventually deletes an expired one."""
        self.client.delete_item(TableName=self.database.records, Key={"pk": {"S": self.key}})

    def runs_out(self) -> None:
        """Let all current leases expire."""
        self.clock.go(INVOCATION + MARGIN)

    def breaks_off(self, work: Work | None = None) -> Lease:
        """Crash an invocation during the work, and let its lease expire. Returns the lease, for a late return."""
        lease = self.lease(work=work)
        self.runs_out()
        return lease

    def completes(self, result: Any = CHARGED, writes: Sequence[Action] = ()) -> Lease:
        """Run an invocation that does the work."""
        with self.lease() as lease:
            lease.complete(result, writes)
        return lease

    def raises(self, error: BaseException) -> Lease:
        """Run an invocation that ends in an error."""
        lease = self.lease()
        try:
            with lease:
                raise error
        except type(error):
            return lease

    def forgets(self, attribute: str) -> None:
        """Remove an attribute of the record, as if written by a release that does not know it."""
        self.database.forget(self.client, self.key, attribute)

    def becomes(self, status: str) -> Lease:
        """Bring the record into a status through calls. HELD needs its policy."""
        match status:
            case "COMPLETED":
                return self.completes()
            case "FAILED":
                return self.raises(Declined("no cover"))
            case "RELEASED":
                return self.raises(Unreachable())
            case "UNKNOWN" | "HELD":
                return self.raises(AnswerLost())
            case "IN_PROGRESS":
                return self.lease()
        raise ValueError(status)


# Changes by others to a late owner's record: each takes the work away.
OVERTAKEN: dict[str, Callable[[Charge], Any]] = {
    "another owner is at work": lambda charge: charge.lease(),
    "another has completed": lambda charge: charge.completes(),
    "another has failed": lambda charge: charge.raises(StolenCard("reported")),
    "another was interrupted": lambda charge: charge.raises(AnswerLost()),
    "a person has released": lambda charge: charge.operators.release(charge.record, by="kim", reason="none"),
    "a person has completed": lambda charge: charge.operators.complete(charge.record, CHARGED, by="kim", reason="seen"),
    "a person has failed": lambda charge: charge.operators.fail(
        charge.record, "Declined", "by phone", by="kim", reason="seen"
    ),
    "the record has expired": lambda charge: charge.delete(),
    # Attempts count from 1 again, so only the owner's token tells the two apart.
    "another started again": lambda charge: (charge.delete(), charge.lease()),
}
overtaken = pytest.mark.parametrize("overtake", OVERTAKEN.values(), ids=OVERTAKEN)
