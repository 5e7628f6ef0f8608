"""Lambda handlers that end applications whose execution has ended without deciding them."""

import logging
from functools import cache, partial

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.ended import Ended as ExecutionEnded
from runtime.ended import detail_parser
from runtime.environment import Variables
from runtime.handler import Call, handler, unread

from .ending import Ending
from .machines import SUCCEEDED, Machine
from .opening_sweep import OpeningSweep
from .openings import Openings

# One application takes up to five calls.
_MILLISECONDS_FOR_THE_NEXT = 20_000

_logger = logging.getLogger(__name__)


class Environment(Variables):
    applications_table: str
    account_opening_arn: str
    account_setup_arn: str


class Ended(ExecutionEnded, frozen=True, rename="camel"):
    """Of account-opening, whose executions are named after their applications."""

    @property
    def application_id(self) -> str:
        return self.name


def _machine(arn: str) -> Machine:
    return Machine(partial(client, "stepfunctions"), arn)


@cache
def ending() -> Ending:
    own = Environment()
    openings = Openings(dynamodb(), own.applications_table)
    return Ending(openings, _machine(own.account_opening_arn), _machine(own.account_setup_arn))


@cache
def sweep() -> OpeningSweep:
    return OpeningSweep(ending())


@handler(detail_parser(Ended), ids=("application_id", "status"))
def application_ended(ended: Ended, call: Call) -> None:
    """Fail an application whose execution failed, or was cut off (event *Execution Status Change*)."""
    if ended.status != SUCCEEDED and ending().end(ended.application_id, ended.status, call.at):
        _logger.warning("application failed", extra={"application_id": ended.application_id})


@handler(unread)
def sweep_applications(_: None, call: Call) -> dict[str, int]:
    """Start or fail the applications whose stream record or event was lost."""
    return sweep().run(call.at, lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_THE_NEXT)
