"""Work under leases whose outcome is unknown, or that waits for a person."""

from collections.abc import Iterator

from idempotency import LeaseRecord, Status
from stepwise.operations import work
from stepwise.operations.stack import Stack

from .concern import Concern

_PROBLEMS = {
    Status.HELD: "held: a person must find out whether it took effect",
    Status.UNKNOWN: "unknown: an attempt was interrupted and may have taken effect",
    Status.IN_PROGRESS: "unknown: its lease expired, so its owner crashed",
}


def concerns(stack: Stack, _name: str) -> Iterator[Concern]:
    for record in work.listed(stack):
        if work.is_undecided(stack, record):
            yield _concern(record)


def _concern(record: LeaseRecord) -> Concern:
    cause = ": ".join(record.error) if record.error else f"attempt {record.attempt} never said how it ended"
    key = record.key.rpartition("#")[0]
    return Concern("work", record.key, _PROBLEMS[record.status], cause, ("work", "show", key), record.updated_at)
