"""Records of the tables' streams."""

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from runtime.validation import InvalidEvent

type Record = Mapping[str, Any]

_logger = logging.getLogger(__name__)


def parse_records(event: Any) -> Sequence[Record]:
    """Parse the records of a batch. Raises InvalidEvent."""
    records = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(records, list) or not all(isinstance(record, Mapping) for record in records):
        raise InvalidEvent("Records: not a batch of a stream")
    return records


def images(record: Record) -> tuple[Record | None, Record | None]:
    """Return the row before and after the change."""
    change = record.get("dynamodb", {})
    return change.get("OldImage"), change.get("NewImage")


def each(records: Sequence[Record], apply: Callable[[Record], None]) -> dict[str, Any]:
    """Apply the records in order, up to the first failure, which is redelivered with all that follow it.

    Returns {"batchItemFailures": [{"itemIdentifier": sequence number}]}.
    """
    for record in records:
        try:
            apply(record)
        except Exception as error:
            number = str(record.get("dynamodb", {}).get("SequenceNumber", ""))
            fields = {"sequence_number": number, "event_id": str(record.get("eventID", ""))}
            _logger.warning("not applied", extra={**fields, "error": type(error).__name__})
            return {"batchItemFailures": [{"itemIdentifier": number}]}
    return {"batchItemFailures": []}
