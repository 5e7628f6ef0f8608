"""Every Lambda handler of commands.

| handler                                           | called by                                         |
| ------------------------------------------------- | ------------------------------------------------- |
| publish_command, retry_command, skip_command      | callers: applications, operators and the HTTP API |
| check_version, wait_prev_command, set_ttl_command | the machine's first states                        |
| history_copy, transform_data                      | its checking states                               |
| sync_data, finish_command                         | its writing states                                |
| start_commands, notify_commands                   | the stream of CommandsTable                       |
| wake_commands, sync_targets                       | the streams of GatesTable and DataTable           |
| command_ended, sweep_commands                     | the event of an end; the schedule                 |
"""

from collections.abc import Mapping, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from entities.command import publish_parser
from entities.targets import TargetEnvironment
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler, unread
from runtime.stores import StoreEnvironment, step_store
from runtime.streams import Record, each, parse_records

from .requests import (
    IDS,
    Ended,
    RetryRequest,
    SkipRequest,
    StateInput,
    TargetInput,
    WaitInput,
    parse_ended,
    parse_retry,
    parse_skip,
    parse_state,
    parse_target,
    parse_wait,
)

# Each function needs only some of these, and loading all takes a tenth of a cold start.
if TYPE_CHECKING:
    from entities.command import Command
    from entities.gate import Gates
    from entities.publish import Answer, Publication
    from entities.targets import Target
    from entities.types import Types
    from runtime.machine import Machine
    from runtime.notices import Notices

    from .projection import Projection
    from .recovery import Turns
    from .running import Running

# A key may take three calls of up to 7 s each.
_MILLISECONDS_FOR_A_KEY = 25_000
# A try, and the mark after it, take two calls of up to 7 s each.
_MILLISECONDS_FOR_A_TRY = 20_000


class Environment(TargetEnvironment, StoreEnvironment):
    """Environment of all handlers.

    command_lifetime_days: how long a command's row outlives its end, unless its type says otherwise.
    """

    commands_table: str
    gates_table: str
    data_table: str
    history_table: str
    command_lifetime_days: int
    command_arn: str
    notification_topic_arn: str


environment = Environment()


def types() -> "Types":
    from entities.registered import TYPES

    return TYPES


@cache
def gates(*more: str) -> "Gates":
    """Return the gates with the tables of commands and gates.

    more: others that the function uses, "data" or "history".
    """
    from entities.gate import Gates
    from entities.tables import Tables

    names = ("commands", "gates", *more)
    return Gates(dynamodb(), Tables(**{name: getattr(environment, f"{name}_table") for name in names}))


@cache
def running(*more: str) -> "Running":
    """Return the states' implementation. more: as for `gates`."""
    from .running import Running

    return Running(gates(*more), types())


@cache
def publication() -> "Publication":
    from entities.publish import Publication

    lifetime_days = environment.command_lifetime_days
    return Publication(gates("data", "history"), types(), step_store(environment), lifetime_days)


@cache
def targets() -> "Mapping[str, Target]":
    from entities.registered import targets

    return targets(environment)


@cache
def projection() -> "Projection":
    from entities.lagging import Lagging

    from .projection import Projection

    return Projection(types(), targets(), Lagging(dynamodb(), environment.gates_table))


@cache
def machine() -> "Machine":
    from runtime.machine import Machine

    return Machine.of(environment.command_arn)


@cache
def tokens() -> "Machine":
    """Return the machine for functions that only answer its callback tokens."""
    from runtime.machine import Machine

    return Machine.of()


@cache
def turns() -> "Turns":
    from .recovery import Turns

    return Turns(gates(), types(), environment.command_lifetime_days)


@cache
def notices() -> "Notices":
    from runtime.notices import Notices

    return Notices.of(environment.notification_topic_arn)


# Callers


@handler(publish_parser(types), ids=("pk", "sk"))
def publish_command(command: "Command", call: Call) -> "Answer":
    """Publish a version of a key, for its execution to run, or finished at once."""
    return publication().publish(command, call.aws_request_id, call.at)


@handler(parse_retry, ids=("pk", "sk"))
def retry_command(request: RetryRequest, call: Call) -> dict[str, Any]:
    """Run all dead versions of a key again, in order."""
    from .recovery import retry

    return {**request.key.row, "versions": retry(request, gates(), machine(), call.at), "status": "retried"}


@handler(parse_skip, ids=("pk", "sk"))
def skip_command(request: SkipRequest, call: Call) -> dict[str, Any]:
    """Skip the dead version that blocks a key."""
    version = turns().skip(request.key, request.by, request.reason, call.at, request.version or None)
    return {**request.key.at(version), "version": version, "status": "skipped"}


# States of the machine


@handler(parse_state, ids=IDS)
def check_version(state: StateInput, _call: Call) -> dict[str, Any]:
    """Return whose turn it is, as {"result": 0 | 1 | -1}; for -1 also the error that the execution ends with."""
    from entities.errors import StaleCommand

    result = running().check_version(state)
    stale = {"Error": StaleCommand.__name__, "Cause": "the version is done, or this is not its execution"}
    return {"result": result, **({"error": stale} if result < 0 else {})}


@handler(parse_wait, ids=IDS)
def wait_prev_command(state: WaitInput, call: Call) -> dict[str, Any]:
    """Park the execution until the version's turn."""
    running().wait(state, tokens(), call.at)
    return {}


@handler(parse_state, ids=IDS)
def set_ttl_command(state: StateInput, call: Call) -> dict[str, Any]:
    """Store how long the command's row outlives its end."""
    running().set_lifetime(state, environment.command_lifetime_days, call.at)
    return {}


@handler(parse_state, ids=IDS)
def history_copy(state: StateInput, call: Call) -> dict[str, Any]:
    """Check that the data row is the one that the version replaces, and that its copy fits."""
    running("data").check_replaced(state, call.at)
    return {}


@handler(parse_state, ids=IDS)
def transform_data(state: StateInput, call: Call) -> list[str]:
    """Check the new document. Return the names of the targets to synchronize."""
    return running("data").transform(state, call.at)


@handler(parse_target, ids=(*IDS, "target"))
def sync_data(state: TargetInput, call: Call) -> dict[str, Any]:
    """Write one target of the version whose turn it is."""
    running("data").synchronize(state, targets(), call.at)
    return {}


@handler(parse_state, ids=IDS)
def finish_command(state: StateInput, call: Call) -> dict[str, Any]:
    """Write data and history, and open the next version's turn, in one transaction."""
    running("data", "history").finish(state, targets(), call.at)
    return {}


# Streams, events, schedule


@handler(parse_records)
def start_commands(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Start the execution of each command in the batch (stream of CommandsTable, new rows)."""
    from .recovery import start

    executions = machine()
    return each(records, lambda record: start(record, executions))


@handler(parse_records)
def wake_commands(records: Sequence[Record], call: Call) -> dict[str, Any]:
    """Wake the version whose turn has come (stream of GatesTable)."""
    following, waiting = turns(), tokens()
    return each(records, lambda record: following.follow(record, waiting, call.at))


@handler(parse_records)
def sync_targets(records: Sequence[Record], call: Call) -> dict[str, Any]:
    """Bring the targets to the version of each data row in the batch (stream of DataTable)."""
    time_left = partial(_has_time, call, _MILLISECONDS_FOR_A_TRY)
    following = projection()
    return each(records, lambda record: following.follow(record, time_left, call.at))


@handler(parse_records)
def notify_commands(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Publish a notice of each asynchronous command that finished, failed or was skipped (stream of CommandsTable)."""
    from .projection import notice_of

    return notices().follow(records, notice_of)


@handler(parse_ended, ids=("execution", "status"))
def command_ended(ended: Ended, call: Call) -> None:
    """Mark a version as dead whose execution ended without success (event *Execution Status Change*)."""
    from .recovery import end

    end(ended, gates(), call.at)


@handler(unread)
def sweep_commands(_: None, call: Call) -> dict[str, int]:
    """Start, wake or end versions whose record or event was lost, and count blocked and lagging keys."""
    from .recovery import Recovery

    return Recovery(turns(), machine()).sweep(call.at, partial(_has_time, call, _MILLISECONDS_FOR_A_KEY))


def _has_time(call: Call, milliseconds: int) -> bool:
    return call.get_remaining_time_in_millis() > milliseconds
