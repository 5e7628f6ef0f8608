"""Corrects a gate that is older than the rows of its key, as after a restore of GatesTable alone."""

from datetime import datetime
from typing import Any

from entities.command import Key
from entities.lagging import GATE, LAGGING_SINCE, Consistency, Seen
from entities.registered import TYPES
from entities.tables import States, Tables
from idempotency import Contention, transact
from idempotency.dynamodb import Action
from idempotency.expressions import condition_check, conditional_update

_ROUNDS = 10


def rebuild_gate(client: Any, tables: Tables, key: Key, at: datetime) -> int:
    """Make the gate agree with every version that has a row. Returns the version of the data; 0 for none.

    The targets are listed until they are rebuilt: an older gate may not know that one lags.
    client: a `boto3.client("dynamodb")`. Raises Contention, StoreUnavailable.
    """
    for _ in range(_ROUNDS):
        seen = Consistency(client, tables).seen(key)
        if seen and (_is_right(seen) or transact(client, _writes(client, tables, key, seen, at)) is None):
            return seen.data_version
    raise Contention(f"{key.sk} is being published by other calls")


def _is_right(seen: Seen) -> bool:
    return not seen.problem and not (seen.gate and GATE in seen.gate.lagging)


def _writes(client: Any, tables: Tables, key: Key, seen: Seen, at: datetime) -> list[Action]:
    """Write the gate, if it and the data are unchanged since they were read."""
    gate, values = seen.gate, _corrected(States(client, tables), key, seen)
    pending = values["finished"] < values["published"]
    values |= {"updated_at": at.isoformat()} | ({"pending_since": at.isoformat()} if pending else {})
    values |= {LAGGING_SINCE: at.isoformat()} if values["lagging"] else {}
    if gate is None:
        condition, read = "attribute_not_exists(#pk)", {}
    else:
        condition = "#published = :read_published AND #finished = :read_finished"
        read = {"published": gate.published, "finished": gate.finished, "lagging": gate.lagging, "dead": gate.dead}
        for name in ("lagging", "dead"):
            condition += f" AND #{name} = :read_{name}" if read[name] else f" AND attribute_not_exists(#{name})"
    assign = {name: value for name, value in values.items() if value != frozenset()}
    gone = [*(values.keys() - assign.keys()), *([] if pending else ["pending_since"])]
    update = conditional_update(
        tables.gates,
        key.row,
        condition=condition,
        assign=assign,
        remove=[*gone, *([] if values["lagging"] else [LAGGING_SINCE])],
        values={f"read_{name}": value for name, value in read.items()},
    )
    is_read = "#version = :version" if seen.data else "attribute_not_exists(#version)"
    check = condition_check(tables.data, key.row, is_read, {"version": seen.data_version})
    return [{"Update": update}, {"ConditionCheck": check}]


def _corrected(states: States, key: Key, seen: Seen) -> dict[str, Any]:
    """Return the correct attributes of the gate. Empty sets are removed."""
    known, finished = (seen.gate.published, seen.gate.finished) if seen.gate else (0, 0)
    finished = max(finished, seen.data_version) + len(seen.ended)
    published = max(known, seen.data_version, *(row.version for row in seen.unknown))
    kind = seen.gate.type if seen.gate else seen.data["type"]["S"] if seen.data else seen.unknown[0].type
    pending = {version: states.command(key, version) for version in range(finished + 1, published + 1)}
    return {
        "published": published,
        "finished": finished,
        "data_version": seen.data_version,
        "dead": frozenset(version for version, row in pending.items() if row and row.has_failed),
        "lagging": frozenset(TYPES.of(kind).targets) | (seen.gate.lagging - {GATE} if seen.gate else frozenset()),
        "type": kind,
    }
