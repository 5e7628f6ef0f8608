"""What a record of the Orders stream says: the state that an order came to, and how that state is told from others."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

type Record = Mapping[str, Any]
type Image = Mapping[str, Any]

# How DynamoDB signs what it deletes by itself because its time to live is over.
_TIME_TO_LIVE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}
_DIGITS = 18


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

    version: sorts as the states of an order follow each other, over its deletion and its creation anew.
    before: what the order added before this change, if this is the first that is heard of it; None for nothing.
    after: what the reports count of the order from now on; None for nothing.
    present: whether the order is still there. One that expired is not, and is counted for ever.
    """

    order_id: str
    event_id: str
    version: str
    before: Contribution | None
    after: Contribution | None
    present: bool


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
    before, after = (_contribution(image) if image else None for image in (old, new))
    if new:
        version = version_of(new)
        if old:
            _require_progress(version_of(old), version, same=before == after)
    elif old:
        version = version_of(old, deleted=True)
        # What expired has been ordered and paid all the same; what a person deletes shall not have been.
        after = before if _expired(record) else None
    else:
        raise MalformedRecord("the record has neither OldImage nor NewImage")
    return Change(order_id_of(record), str(record.get("eventID", "")), version, before, after, present=bool(new))


def version_of(image: Image, *, deleted: bool = False) -> str:
    """Where this state stands among all that the order ever had.

    `revision` counts within one life of the order; one that was deleted and made anew starts over with a later
    `created_at`. A deletion comes after the revision that it deleted. Raises MalformedRecord.
    """
    revision = _whole(image, "revision")
    if not 0 <= revision < 10**_DIGITS:
        raise MalformedRecord("revision: out of range")
    return f"{_moment(image, 'created_at')}#{revision:0{_DIGITS}d}#{int(deleted)}"


def _require_progress(old: str, new: str, *, same: bool) -> None:
    if new < old or (new == old and not same):
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
