"""A change of an order, read from a record of the Orders stream."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

type Record = Mapping[str, Any]
type Image = Mapping[str, Any]

# The principal of deletions by TTL.
_TIME_TO_LIVE = {"type": "Service", "principalId": "dynamodb.amazonaws.com"}


class MalformedRecord(Exception):
    """The record has no order that a report can count. The message names the attribute, never a value."""


class RevisionNotRaised(Exception):
    """An order was changed without raising its `revision`, so it is unknown which state is newer."""


@dataclass(frozen=True, slots=True)
class Contribution:
    """One order's part of the reports: 1 order, and `total` (in the currency's minor unit) to the revenue."""

    day: str
    status: str
    currency: str
    total: int


@dataclass(frozen=True, slots=True)
class Change:
    """One change of an order.

    created_at: identifies the life of the order. An order that is deleted and created again restarts its revisions;
        its lives are counted as two orders.
    version: grows with each state of this life.
    before: what the order added before this change; None for nothing. The reports may have counted another state.
    after: what the order adds from now on; None for nothing.
    """

    order_id: str
    created_at: str
    version: int
    event_id: str
    before: Contribution | None
    after: Contribution | None


def records_of(event: Any) -> Sequence[Record]:
    """Parse the records of a batch. Raises MalformedRecord."""
    records: Sequence[Record] = _field(event, "Records")
    return records


def order_id_of(record: Record) -> str:
    """Return the order of a record. Raises MalformedRecord."""
    return _text(_field(record, "dynamodb").get("Keys", {}), "order_id")


def sequence_number(record: Record) -> str:
    """Return the record's sequence number. Raises MalformedRecord."""
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
    """Return the version: a deletion follows the revision that it deletes, and precedes the next one if restored."""
    return 2 * _whole(image, "revision") + deleted


def _contribution_before(old: Image | None, new: Image | None) -> Contribution | None:
    try:
        return _contribution(old) if old else None
    except MalformedRecord:
        if new is None:
            raise
        # The old image was malformed. The counter record holds what was counted for this order.
        return None


def _require_progress(old: Image, change: Change) -> None:
    try:
        created_at, version = _moment(old, "created_at"), _version(old)
    except MalformedRecord:
        return
    if created_at != change.created_at:
        raise MalformedRecord("created_at: must not change during the life of an order")
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
