"""The targets of a stack, and their rebuilding for all keys of a type."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import fields
from functools import partial
from itertools import batched

from entities.command import Key
from entities.errors import TargetUnavailable
from entities.rebuild import Rebuild
from entities.registered import TARGETS, TYPES, TargetEnvironment, targets
from entities.state import Tables
from entities.targets import Target
from entities.types import EntityType
from idempotency import Contention, StoreUnavailable

from .errors import CommandError
from .stack import Stack

_WORKERS, _BATCH = 8, 100
REBUILT, FAILED = "rebuilt", "failed"


class NoSuchTarget(CommandError):
    """The target is not registered; the message says which are."""


def targets_of(stack: Stack, kind: EntityType) -> Mapping[str, Target]:
    """The targets of a type, by name."""
    made = _all(stack)
    return {name: made[name] for name in kind.targets}


def rebuild(stack: Stack, tables: Tables, key: Key, name: str) -> int:
    """Bring a target of one key to its data. Returns the version; 0 for none.

    Raises NoSuchTarget, Contention, StoreUnavailable, TargetUnavailable.
    """
    return Rebuild(stack.dynamodb, tables).run(key, name, _target(stack, name))


def rebuild_all(stack: Stack, tables: Tables, name: str, progress: Callable[[int], None]) -> Counter[str]:
    """Bring a target to the data of every key that has it. Returns how many were rebuilt, and how many failed.

    progress: called with how many more keys are done. A second run repeats nothing but reads. Raises NoSuchTarget.
    """
    counts: Counter[str] = Counter()
    one = partial(_rebuilt, Rebuild(stack.dynamodb, tables), name, _target(stack, name))
    with ThreadPoolExecutor(_WORKERS) as pool:
        for batch in batched(keys(stack, tables, name), _BATCH, strict=False):
            counts.update(pool.map(one, batch))
            progress(len(batch))
    return counts


def keys(stack: Stack, tables: Tables, name: str) -> Iterator[Key]:
    """Every key of a type that has this target: also where no version has finished, as its target may show one."""
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


def _rebuilt(rebuild: Rebuild, name: str, target: Target, key: Key) -> str:
    try:
        rebuild.run(key, name, target)
    except (Contention, StoreUnavailable, TargetUnavailable):
        return FAILED
    return REBUILT


def _all(stack: Stack) -> Mapping[str, Target]:
    """Each variable of TargetEnvironment is an output of the stack, such as ProductsTable for products_table."""
    outputs = {one.name: stack.outputs[one.name.title().replace("_", "")] for one in fields(TargetEnvironment)}
    return targets(TargetEnvironment(**outputs), stack.client)


def _target(stack: Stack, name: str) -> Target:
    if name not in TARGETS:
        raise NoSuchTarget(f"there is no target {name}; there are {', '.join(sorted(TARGETS))}")
    return _all(stack)[name]
