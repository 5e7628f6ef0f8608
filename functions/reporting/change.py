"""What a record of the Orders stream says: the state that an order came to, and its place among the others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

type Record = Mapping[str, Any]
type Image = Mapping[str, Any]

# How DynamoDB signs what it deletes by itself because its time to live is over.
_TIME_TO_LIVE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


class MalformedRecord(Exception):
    """The record shows no order that a report can count. The message names the attribute and never a value."""


class RevisionNotRaised(Exception):
    """An order was changed without a higher `revision`, so nobody can say which of the two states is the later one."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """What one order adds to the reports: 1 to the orders, `total` (in the currency's minor unit) to the revenue."""

    day: str
    status: str
    currency: str
    total: int


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an order.

    created_at: which life of the order this is. One that was deleted and is made anew counts its revisions from the
        start; its lives are counted apart, as if they were two orders.
    version: grows from state to state of this life.
    before: what the order added before this change; None for nothing. Another state may be counted than this one.
    after: what the order adds from now on; None for nothing.
    """

    order_id: str
    created_at: str
    version: int
    event_id: str
    before: Contribution | None
    after: Contribution | None


def records_of(event: Any) -> Sequence[Record]:
    """The records of a batch. Raises MalformedRecord."""
    records: Sequence[Record] = _field(event, "Records")
    return records


def order_id_of(record: Record) -> str:
    """The order that a record is about. Raises MalformedRecord."""
    return _text(_field(record, "dynamodb").get("Keys", {}), "order_id")


def sequence_number(record: Record) -> str:
    """What the event source mapping knows the record by. Raises MalformedRecord."""
    return str(_field(_field(record, "dynamodb"), "SequenceNumber"))


def read_change(record: Record) -> Change:
    """Read a record of the stream. Raises MalformedRecord or RevisionNotRaised."""
    images = _field(record, "dynamodb")
    old, new = images.get("OldImage"), images.get("NewImage")
    if not (old or new):
        raise MalformedRecord("the record has neither OldImage nor NewImage")
    image = new or old
    change = Change(
        order_id=order_id_of(record),
        created_at=_moment(image, "created_at"),
        version=_version(image, deleted=not new),
        event_id=str(record.get("eventID", "")),
        before=_contribution_before(old, new),
        after=_contribution(new) if new else None,
    )
    if old and new:
        _require_progress(old, change)
    # An expired order still counts; a deleted one does not.
    return replace(change, after=change.before) if _expired(record) else change


def _version(image: Image, *, deleted: bool = False) -> int:
    """A deletion comes after the revision that it deletes, and before the next one, should the order be put back."""
    return 2 * _whole(image, "revision") + deleted


def _contribution_before(old: Image | None, new: Image | None) -> Contribution | None:
    try:
        return _contribution(old) if old else None
    except MalformedRecord:
        if new is None:
            raise
        # A row that nobody could count was put right; what stands counted of it is in its record.
        return None


def _require_progress(old: Image, change: Change) -> None:
    try:
        created_at, version = _moment(old, "created_at"), _version(old)
    except MalformedRecord:
        return
    if created_at != change.created_at:
        raise MalformedRecord("created_at: changed in the life of an order")
    if change.version < version or (change.version == version and change.before != change.after):
        raise RevisionNotRaised("revision: not raised by a change; see docs/streams.md")


def _expired(record: Record) -> bool:
    identity = record.get("userIdentity") or {}
    return all(identity.get(name) == value for name, value in _TIME_TO_LIVE.items())


def _contribution(image: Image) -> Contribution:
    day, status, currency = (_text(image, name) for name in ("created_ymd", "status", "currency"))
    return Contribution(day, status, currency, _whole(image, "total"))


def _field(document: Mapping[str, Any], name: str) -> Any:
    if name not in document:
        raise MalformedRecord(f"{name}: missing")
    return document[name]


def _text(image: Image, name: str) -> str:
    value = _field(image, name).get("S")
    if not isinstance(value, str) or not value:
        raise MalformedRecord(f"{name}: not a text")
    return value


def _whole(image: Image, name: str) -> int:
    try:
        return int(_field(image, name).get("N"))
    except (TypeError, ValueError):
        raise MalformedRecord(f"{name}: not a whole number") from None


def _moment(image: Image, name: str) -> str:
    try:
        moment = datetime.fromisoformat(_text(image, name))
    except ValueError:
        raise MalformedRecord(f"{name}: not a time in ISO 8601") from None
    if moment.tzinfo is None:
        raise MalformedRecord(f"{name}: without a time zone")
    return moment.astimezone(UTC).isoformat(timespec="microseconds")
