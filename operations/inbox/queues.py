"""Messages in dead-letter queues, and stream records that could not be handled."""

from collections.abc import Iterator

from operations import queues
from operations.stack import Stack

from .concern import Concern


def concerns(stack: Stack, name: str) -> Iterator[Concern]:
    for one in queues.listed(stack, name):
        if one.is_for_failures and one.waiting:
            what = "stream records" if one.holds_records else "messages"
            see = ("replay", "--failed") if one.name == queues.REPORTS else ("queues", "redrive", one.name)
            yield Concern("queues", one.name, f"{one.waiting} {what} failed", queues.cause(stack, one), see)
