"""Operator tools: look up leases and decide unknown outcomes. Each decision is kept on the record."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any, Protocol

from .dynamodb import LeaseClient, put, read
from .errors import AlreadyInProgress, StateConflict
from .lease_table import LISTED, LeaseTable
from .records import LeaseRecord, Status, is_lease
from .results import as_stored, finished

# BatchGetItem takes 100 keys.
_PAGE = 100
# Limit for a replaced result or error in the audit trail, so that many decisions fit on one record.
_WAS_LIMIT = 1000


class OperatorClient(LeaseClient, Protocol):
    """The part of `boto3.client("dynamodb")` that operators use."""

    def get_paginator(self, operation_name: Any, /) -> Any: ...


class LeaseOperations:
    """Looks up the leases of one table, and decides their outcomes.

    client, table, lifetime, clock: as for `LeaseStore`.
    """

    def __init__(
        self,
        client: OperatorClient,
        table: str,
        *,
        lifetime: timedelta = timedelta(days=90),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._client = client
        self._table = LeaseTable(table, lifetime)
        self._clock = clock

    def find(self, key: str, works: Sequence[str]) -> list[LeaseRecord]:
        """Return the records of a business id for these names of work. Raises StoreUnavailable."""
        return self._records([f"{key}#{work}" for work in works])

    def listed(self) -> Iterator[LeaseRecord]:
        """Yield all records except completed and released ones, of every kind of work. Raises StoreUnavailable."""
        pages = self._client.get_paginator("scan").paginate(
            TableName=self._table.name, IndexName=LISTED, PaginationConfig={"PageSize": _PAGE}
        )
        for page in pages:
            if page["Items"]:
                yield from self._records([item["pk"]["S"] for item in page["Items"]])

    def release(self, record: LeaseRecord, *, by: str, reason: str) -> None:
        """Free the key: the next call does the work, regardless of earlier attempts.

        by: who decides. reason: why; both are kept on the record.
        Raises AlreadyInProgress (its owner may still be at work), StateConflict (the record changed since it was read),
        Contention, StoreUnavailable.
        """
        self._decide(record, Status.RELEASED, by, reason)

    def complete(self, record: LeaseRecord, result: Any, *, by: str, reason: str) -> None:
        """Record that the work is done; duplicates get this result, any JSON value. Raises as `release`."""
        self._decide(record, Status.COMPLETED, by, reason, result=as_stored(finished(result))[0])

    def fail(self, record: LeaseRecord, name: str, message: str, *, by: str, reason: str) -> None:
        """Record that the work ended with a final error of this class; duplicates get it. Raises as `release`."""
        self._decide(record, Status.FAILED, by, reason, error=(name, message))

    def _records(self, keys: Sequence[str]) -> list[LeaseRecord]:
        items = read(self._client, self._table.name, keys)
        return sorted((LeaseRecord.from_item(item) for item in items if is_lease(item)), key=lambda record: record.key)

    def _decide(self, record: LeaseRecord, status: Status, by: str, reason: str, **more: Any) -> None:
        now = self._clock()
        if record.in_progress(now):
            raise AlreadyInProgress(record.key, record.lease_until)
        was = (": ".join(record.error) if record.error else record.result or "")[:_WAS_LIMIT]
        entry = {
            "at": now.isoformat(),
            "by": by,
            "from": record.status,
            "was": was,
            "to": status,
            "reason": reason,
        }
        decided = self._table.became(replace(record, audit=(*record.audit, entry)), status, now, **more)
        outcome = put(self._client, self._table.replacement(decided, record))
        if not outcome.applied and not _is_last(entry, outcome.old):
            raise StateConflict(f"{record.key} has changed since it was read; look again")


def _is_last(entry: Mapping[str, str], item: Mapping[str, Any] | None) -> bool:
    """True if this is our own write, retried by the SDK after a lost response."""
    return item is not None and LeaseRecord.from_item(item).audit[-1:] == (entry,)
