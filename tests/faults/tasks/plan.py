"""The requests of a schedule: a task of up to five items, perhaps another one by the queue, and retries."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from tests.faults.seams import Document
from tests.faults.tasks.schedule import Schedule

TENANT = "tenant1"
TASK, QUEUED = "t-1", "q-1"
TYPES = ("repeatable", "resolved", "held")
"""Types of work: repeatable; or its outcome is asked of the outside system, or of an operator."""
GOOD, BAD, DEFECT = "good", "bad", "defect"
"""Fates of an item: its work is done, is refused each time, or fails with an unforeseen error."""
_DAYS = (0, 0, 0, 0, 1, 40, 88.5, 95)


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a schedule. task: a request.

    callers: moments of CreateTask calls; other: which of them asks for other items under the id.
    retries: how many times an operator retries the failures. limit: items at once. message: of the queue, or None.
    """

    task: Document
    callers: Sequence[float]
    other: Document | None
    retries: int
    limit: int
    message: Document | None


def plan(schedule: Schedule) -> Plan:
    chance = schedule.chance("plan")
    named = chance.random() < 0.85
    task = _task(chance, chance.choice((1, 1, 2, 2, 2, 3, 3, 4, 5)), named)
    other = _task(chance, chance.choice((1, 2, 3)), named) if named and chance.random() < 0.12 else None
    return Plan(
        task,
        [0.0, *([chance.choice((0.0, 0.05, 30))] if chance.random() < 0.3 else [])],
        other,
        chance.choice((0, 0, 1, 1, 1, 2, 3)),
        chance.choice((1, 2, 2, 3)),
        _message(chance) if chance.random() < 0.2 else None,
    )


def days(chance: random.Random) -> float:
    """Days that pass before a retry."""
    return chance.choice(_DAYS)


def _task(chance: random.Random, count: int, named: bool) -> dict[str, Any]:
    items = [{"text": f"{_kind(chance)}-{number}"} for number in range(1, count + 1)]
    own = {"task_id": TASK} if named else {}
    return {"task_type": chance.choice(TYPES), "tenant_code": TENANT, "items": items, **own}


def _message(chance: random.Random) -> dict[str, Any]:
    item = {"text": f"{_kind(chance)}-1"}
    return {"task_type": chance.choice(TYPES), "tenant_code": TENANT, "task_id": QUEUED, "item": item}


def _kind(chance: random.Random) -> str:
    return chance.choice((GOOD, GOOD, GOOD, GOOD, GOOD, GOOD, GOOD, BAD, DEFECT))
