"""Lambda handler that writes the targets of synchronous commands."""

from collections.abc import Sequence
from functools import cache
from typing import Any

from entities.lagging import Lagging
from entities.registered import TYPES, targets
from entities.targets import TargetEnvironment
from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler
from runtime.streams import Record, each, parse_records

from .projection import Projection

# A try, and the mark after it, take two calls of up to 7 s each.
_MILLISECONDS_FOR_A_TRY = 20_000


class Environment(TargetEnvironment):
    gates_table: str


@cache
def projection() -> Projection:
    environment = Environment()
    return Projection(TYPES, targets(environment), Lagging(dynamodb(), environment.gates_table))


@handler(parse_records)
def sync_targets(records: Sequence[Record], call: Call) -> dict[str, Any]:
    """Bring the targets to the version of each data row in the batch (stream of DataTable)."""

    def time_left() -> bool:
        return call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_A_TRY

    following = projection()
    return each(records, lambda record: following.follow(record, time_left, call.at))
