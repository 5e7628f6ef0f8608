"""Lambda handler that finalizes the setup of an account when its saga or its recovery has ended."""

from functools import cache

from idempotency.saga.finalization import Finalization
from runtime import finalization as made
from runtime.ended import Ended
from runtime.handler import Call, handler
from runtime.saga import ended_parser

from .applications import ApplicationsTable
from .definition import ACCOUNT_SETUP

Environment = made.FinalizationEnvironment


@cache
def finalization() -> Finalization:
    return made.finalization(ACCOUNT_SETUP, ApplicationsTable, Environment())


@handler(ended_parser(ACCOUNT_SETUP), ids=("application_id",))
def finalize_account(ended: Ended, call: Call) -> None:
    """Finalize the setup whose saga or recovery has ended."""
    finalization().finalize_event(ended, call.at)
