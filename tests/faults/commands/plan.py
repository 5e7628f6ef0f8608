"""The publications of a schedule: which versions of which keys, and when."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from entities.command import Key
from tests.faults.commands.schedule import Schedule

KEYS = (Key("TENANT#tenant1", "PRODUCT#tea-01"), Key("TENANT#tenant1", "PRODUCT#gift-02"))
MARKS = ("", "b")
"""Prefixes of a key's versions in places: `finish@2.1`, `finish@b2.1`."""


@dataclass(frozen=True, slots=True)
class Publication:
    """One call of PublishCommand. key: its number. version: None if it takes the next one. after: seconds until it."""

    key: int
    version: int | None
    after: float
    document: Mapping[str, Any]


_CATEGORIES = ("tea", "green-tea", "gifts")
_TWO_KEYS, _SKIPS = 0.2, 0.15


def plan(schedule: Schedule) -> list[Publication]:
    """Plan three to five versions of one key: whole, merged or deleted; asynchronous or synchronous; in any order.

    A fifth of the schedules also have two or three versions of another key.
    """
    chance = schedule.chance("plan")
    first = _of_key(chance, 0, chance.choice((3, 3, 3, 3, 3, 3, 4, 5)))
    other = schedule.chance("other key")
    return [*first, *(_of_key(other, 1, other.choice((2, 3))) if other.random() < _TWO_KEYS else [])]


def skips(schedule: Schedule) -> bool:
    """True if the type's policy skips dead versions."""
    return schedule.chance("policy").random() < _SKIPS


def later_version(chance: random.Random, plan: Sequence[Publication], key: int, version: int) -> Publication:
    """Plan one more version, whose turn comes after all others of the plan."""
    numbered = next(one.version for one in plan if one.key == key) is not None
    number = version if numbered else None
    return Publication(key, number, 0, _document(chance, key, version, number, 0.3))


def _of_key(chance: random.Random, key: int, count: int) -> list[Publication]:
    numbered = chance.random() < 0.8
    synchronous = chance.choice((0.0, 0.0, 0.35))
    span = chance.choice((0.0, 0.5, 6.0))
    return [
        Publication(
            key,
            index if numbered else None,
            chance.uniform(0, span),
            _document(chance, key, index, index if numbered else None, synchronous),
        )
        for index in range(1, count + 1)
    ]


def _document(chance: random.Random, key: int, index: int, version: int | None, synchronous: float) -> dict[str, Any]:
    kind = chance.choice(("whole", "whole", "merge", "delete")) if index > 1 else "whole"
    document: dict[str, Any] = {
        **KEYS[key].row,
        "tenant_code": "tenant1",
        "id": "tea-uuid",
        "code": KEYS[key].sk.partition("#")[2],
        "name": f"Tea {index}",
        "type": "PRODUCT",
        "mode": "sync" if chance.random() < synchronous else "async",
        **({"request_id": f"request-{index}"} if version is None else {"version": version}),
    }
    whole = {"category": chance.choice(_CATEGORIES), "price": 1000 + index, "currency": "JPY"}
    if kind == "delete":
        return {**document, "deleted": True, "attributes": {}}
    if kind == "merge":
        # After a deletion it is invalid, and must be skipped.
        changes = {"price": 2000 + index, "category": whole["category"], "description": None}
        return {**document, "merge": True, "attributes": dict(chance.sample(sorted(changes.items(), key=str), 2))}
    return {**document, "attributes": {**whole, "description": f"no. {index}", "available": chance.random() < 0.5}}
