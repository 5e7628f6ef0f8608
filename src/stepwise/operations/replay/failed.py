"""Replays the failed records that the event source mapping stored, whole, in S3."""

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from reporting.change import Change, MalformedRecord, Record, RevisionNotRaised, order_id_of, read_change

from .fire import Outcome, Trigger
from .kept import Deliver, KeptRecords
from .orders import Seen

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Item = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Stuck:
    """A record that cannot be counted. record: its order, or the object that holds it. cause: a sentence."""

    record: str
    cause: str


@dataclass(frozen=True, slots=True)
class FailedRecords:
    """Failed records.

    client: a `boto3.client("dynamodb")` to read with. s3: a `boto3.client("s3")`.
    deliver: called with a function's ARN and a record; invokes only that function, and returns whether it succeeded.
    progress: called with how many more records are done.
    stuck: the remaining records after `run`, each with its cause.
    """

    client: "DynamoDBClient"
    s3: Any
    bucket: str
    trigger: Trigger
    deliver: Deliver
    progress: Callable[[int], None]
    stuck: list[Stuck] = field(default_factory=list)

    def run(self, *, dry: bool) -> Counter[Outcome]:
        """Replay the orders of all records, unless a newer change has overtaken them; move finished objects away.

        Objects come in the order in which they were stored, their records in the order of the stream. After an
        interruption anywhere, it can run again: a replayed order has overtaken its record.
        """
        counts: Counter[Outcome] = Counter()
        for key in self._kept.names():
            outcomes = self._replay(key, dry=dry)
            if not dry and not outcomes[Outcome.STUCK]:
                self._kept.move_away(key)
            counts += outcomes
        return counts

    @property
    def _kept(self) -> KeptRecords:
        return KeptRecords(self.s3, self.bucket)

    def _replay(self, key: str, *, dry: bool) -> Counter[Outcome]:
        counts: Counter[Outcome] = Counter()
        for function, record in self._kept.records(key):
            counts[self._record(function, record, dry=dry)] += 1
            self.progress(1)
        if not counts:
            self.stuck.append(Stuck(key, "Lambda did not write this object"))
        return counts or Counter({Outcome.STUCK: 1})

    def _record(self, function: str, record: Record, *, dry: bool) -> Outcome:
        order_id = order_id_of(record)
        standing = self._standing(order_id)
        change, now = _readable(record), _readable(_shown(order_id, standing)) if standing else None
        if _overtaken(change, now):
            return Outcome.OVERTAKEN
        if record["eventName"] == "REMOVE":
            # A deleted order cannot be written to. Only the failed function needs the record again.
            if dry or self.deliver(function, record):
                return Outcome.DELIVERED
            return self._is_stuck(order_id, f"{function.rpartition(':')[2]} failed again; its log says why")
        if standing is None or (change and now and change.created_at != now.created_at):
            # The deletion has a separate record.
            return Outcome.OVERTAKEN
        if now is None:
            return self._is_stuck(order_id, _why(_shown(order_id, standing)))
        return Outcome.FIRED if dry else self.trigger.fire(Seen(order_id, int(standing["revision"]["N"])))

    def _is_stuck(self, order_id: str, cause: str) -> Outcome:
        self.stuck.append(Stuck(order_id, cause))
        return Outcome.STUCK

    def _standing(self, order_id: str) -> Item | None:
        key = {"order_id": {"S": order_id}}
        self.trigger.budget.wait()
        found = self.client.get_item(
            TableName=self.trigger.table, Key=key, ConsistentRead=True, ReturnConsumedCapacity="TOTAL"
        )
        self.trigger.budget.spend(found["ConsumedCapacity"].get("CapacityUnits", 1))
        return found.get("Item")


def _shown(order_id: str, item: Item) -> Record:
    """Format an order as a stream record."""
    return {"dynamodb": {"Keys": {"order_id": {"S": order_id}}, "NewImage": item}}


def _readable(record: Record) -> Change | None:
    try:
        return read_change(record)
    except (MalformedRecord, RevisionNotRaised):
        return None


def _why(record: Record) -> str:
    """Say why an order cannot be read."""
    try:
        read_change(record)
    except (MalformedRecord, RevisionNotRaised) as error:
        return f"{type(error).__name__}: {error}"
    return ""


def _overtaken(change: Change | None, now: Change | None) -> bool:
    """True if the order has reached a later state since this change, in the same life."""
    if change is None or now is None:
        return False
    return now.created_at == change.created_at and now.version > change.version
