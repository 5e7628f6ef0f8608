"""Applies the records of the Orders stream to the reports, each exactly once."""

import logging
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from idempotency import Contention, TransactionClient, transact
from runtime.backoff import until_decided

from .change import Change, Record, RevisionNotRaised, order_id_of, read_change, sequence_number
from .table import Counted, ReportsTable, counted

# The first round writes. The second handles an order whose counted state differs from the record's OldImage;
# others handle a concurrent duplicate.
_ROUNDS = 4

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Reports:
    """Applies changes. client: a `boto3.client("dynamodb")`."""

    client: TransactionClient
    table: ReportsTable

    def apply(self, change: Change) -> bool:
        """Count a change once, however late and often it arrives. One DynamoDB call if it arrives in order.

        Returns False if this change, or a later one of its order, was counted already.
        Raises RevisionNotRaised, Contention or StoreUnavailable.
        """
        standing = change.before
        for _ in range(_ROUNDS):
            cancelled = transact(self.client, self.table.count(change, standing))
            if cancelled is None:
                return True
            # Only the record has a condition, and the failed condition returns the record.
            record = cancelled.refusals[0].item
            stands = counted(record) if record else None
            if stands and stands.version >= change.version:
                _require_same(stands, change)
                return False
            standing = stands.contribution if stands else None
        raise Contention(f"order {change.order_id} is being counted by other calls")

    def apply_all(self, records: Sequence[Record], *, time_left: Callable[[], bool]) -> list[str]:
        """Apply a batch in order. An order stops at its first failure; other orders continue.

        Returns the sequence number of each failure. The event source mapping redelivers everything from the lowest of
        them on, so records skipped after a failure are not reported.
        time_left: called before each record; False leaves the rest to the next invocation.
        """
        failed: dict[str, str] = {}
        done = 0
        for record in records:
            key, number = _identity(record)
            if not time_left():
                failed.setdefault(key, number)
                break
            if key not in failed:
                try:
                    change = read_change(record)
                    # Two orders may be counted in the same row at the same time.
                    done += until_decided(partial(self.apply, change))
                except Exception as error:
                    failed[key] = number
                    _log_failure(record, key, number, error)
        _logger.info("batch done", extra={"records": len(records), "counted": done, "failed": len(failed)})
        return list(failed.values())


def _identity(record: Record) -> tuple[str, str]:
    return order_id_of(record), sequence_number(record)


def _require_same(stands: Counted, change: Change) -> None:
    if stands.version == change.version and stands.contribution != change.after:
        raise RevisionNotRaised("revision: two states of the order have the same one; see docs/streams.md")


def _log_failure(record: Record, order_id: str, number: str, error: Exception) -> None:
    fields = {"order_id": order_id, "sequence_number": number, "event_id": str(record.get("eventID", ""))}
    _logger.warning("not counted", extra={**fields, "error": type(error).__name__, "reason": str(error)})
