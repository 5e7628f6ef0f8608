"""Setups of accounts that failed, and of which something still stands after a compensation gave up."""

from collections.abc import Iterator

from accounts.definition import ACCOUNT_SETUP
from stepwise.operations import recovery
from stepwise.operations.stack import Stack

from .concern import Concern


def concerns(stack: Stack, _name: str) -> Iterator[Concern]:
    for one in recovery.failing(stack, ACCOUNT_SETUP):
        since = one.retrying.since.isoformat() if one.retrying else ""
        problem = f"{', '.join(one.standing)} not undone; setup {one.problem}"
        see = ("applications", "show" if one.row_edited or one.retrying else "recover", one.saga_id)
        yield Concern("applications", one.saga_id, problem, str(one.cause or ""), see, since)
