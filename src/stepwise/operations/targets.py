"""The targets of a stack, and their rebuilding for all keys of a type."""

from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from itertools import batched

from entities.command import Key
from entities.lagging import GATE
from entities.rebuild import Rebuild
from entities.registered import TARGETS, TYPES, targets
from entities.tables import Tables
from entities.targets import Target, TargetEnvironment
from entities.types import EntityType

from .errors import CommandError
from .gates import rebuild_gate
from .stack import Stack

_WORKERS, _BATCH = 8, 100


class NoSuchTarget(CommandError):
    """The target is not registered; the message says which are."""


@dataclass(frozen=True, slots=True)
class Failed:
    """A key that was not rebuilt. cause: its error."""

    key: Key
    cause: str


def targets_of(stack: Stack, kind: EntityType) -> Mapping[str, Target]:
    """Return the targets of a type, by name."""
    made = _all(stack)
    return {name: made[name] for name in kind.targets}


def rebuild(stack: Stack, tables: Tables, key: Key, name: str) -> int:
    """Bring a target of one key, or its gate, up to its data. Returns the version; 0 for none.

    Raises NoSuchTarget, Contention, StateConflict, StoreUnavailable, TargetUnavailable.
    """
    if name == GATE:
        return rebuild_gate(stack.dynamodb, tables, key, datetime.now(UTC))
    return Rebuild(stack.dynamodb, tables).run(key, name, _target(stack, name), datetime.now(UTC))


def rebuild_all(stack: Stack, tables: Tables, name: str, progress: Callable[[int], None]) -> tuple[int, list[Failed]]:
    """Rebuild a target from the data of every key that has it, or every gate from its rows.

    Returns the number of rebuilt keys, and the keys that failed.
    progress: called with the number of further keys done. A second run repeats only reads. Raises NoSuchTarget.
    """
    done, failed = 0, list[Failed]()
    if name == GATE:
        one, found = partial(rebuild, stack, tables, name=GATE), keys_with_rows(stack, tables)
    else:
        target = _target(stack, name)
        one = partial(Rebuild(stack.dynamodb, tables).run, name=name, target=target, at=datetime.now(UTC))
        found = keys(stack, tables, name)
    with ThreadPoolExecutor(_WORKERS) as pool:
        for batch in batched(found, _BATCH, strict=False):
            failed += filter(None, pool.map(partial(_failure, one), batch))
            done += len(batch)
            progress(len(batch))
    return done - len(failed), failed


def keys(stack: Stack, tables: Tables, name: str) -> Iterator[Key]:
    """Yield every key of a type that has this target, even if no version has finished: the target may show one."""
    pages = stack.dynamodb.get_paginator("scan").paginate(
        TableName=tables.gates,
        ProjectionExpression="pk, sk, #type",
        ExpressionAttributeNames={"#type": "type"},
        ConsistentRead=True,
    )
    for page in pages:
        for item in page["Items"]:
            if name in TYPES.of(item["type"]["S"]).targets:
                yield Key(item["pk"]["S"], item["sk"]["S"])


def keys_with_rows(stack: Stack, tables: Tables) -> Iterator[Key]:
    """Yield each key with a data or command row once, even if it has no gate."""
    seen = set[Key]()
    for table in (tables.data, tables.commands):
        pages = stack.dynamodb.get_paginator("scan").paginate(
            TableName=table, ProjectionExpression="pk, sk", ConsistentRead=True
        )
        for item in (item for page in pages for item in page["Items"]):
            key = Key(item["pk"]["S"], item["sk"]["S"].partition("@")[0])
            if key not in seen:
                seen.add(key)
                yield key


def _failure(rebuild: Callable[..., int], key: Key) -> Failed | None:
    try:
        rebuild(key=key)
    except Exception as error:
        # No error of one key may stop the others.
        return Failed(key, f"{type(error).__name__}: {error}")
    return None


def _all(stack: Stack) -> Mapping[str, Target]:
    """Return all targets.

    Each variable of TargetEnvironment is an output of the stack: ProductsTable for products_table.
    """
    outputs = {name: stack.outputs[name.title().replace("_", "")] for name in TargetEnvironment.fields()}
    return targets(TargetEnvironment(**outputs), stack.client)


def _target(stack: Stack, name: str) -> Target:
    if name not in TARGETS:
        raise NoSuchTarget(f"there is no target {name}; there are {', '.join(sorted(TARGETS))}")
    return _all(stack)[name]
