"""Messages in dead-letter queues, and stream records that could not be handled."""

from collections.abc import Iterator

from stepwise.operations import queues
from stepwise.operations.stack import Stack

from .concern import Concern


def concerns(stack: Stack, name: str) -> Iterator[Concern]:
    for one in queues.listed(stack, name):
        if one.is_for_failures and one.waiting:
            what = ("stream record" if one.holds_records else "message") + ("" if one.waiting == 1 else "s")
            problem, see = f"{one.waiting} {what} failed", queues.command_of(one.name)
            yield Concern("queues", one.name, problem, queues.cause(stack, one), see)
