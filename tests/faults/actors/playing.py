"""Shared parts of all plays: the engine of a process, a schedule from begin to clear, its outcome, and passing days."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from tests.faults.actors.engine import START, Engine
from tests.faults.actors.expiry import expire, expired
from tests.faults.seams import DYNAMODB_ENDPOINT
from tests.kit.deployed_stack import Stack

SWEEP_EVERY = 300.0
DAY = 86_400.0
_LOOK_EVERY = 3.0
_MAX_SWEEPS = 40
_DELETED = 0.6
_SUMMED = ("outcomes", "calls", "hits", "stops")


def started[E: Engine](kind: Callable[[Stack], E]) -> E:
    """Start an engine for this process. On a shared DynamoDB Local, each process has its own tables."""
    prefix = f"p{os.getpid()}-" if DYNAMODB_ENDPOINT in os.environ else ""
    engine = kind(Stack(prefix))
    engine.start()
    return engine


@contextmanager
def playing(run: Any) -> Iterator[None]:
    """Give a run exclusive use of its engine during the block."""
    run.engine.begin(run)
    try:
        yield
    finally:
        run.simulation.close()
        run.engine.clear()


def outcome_of(run: Any, *judges: Any) -> dict[str, Any]:
    """Return the fields of every outcome except `ends`, as `totals.Outcome` describes them."""
    return {
        "violations": tuple(violation for judge in judges for violation in judge.violations),
        "injected": type(run.schedule)(run.schedule.seed, tuple(run.faults.injected)),
        "trace": tuple(run.trace),
        "seconds": run.simulation.now,
        **{name: sum((getattr(judge, name) for judge in judges), Counter()) for name in _SUMMED},
    }


def until_ended(
    run: Any, rows: Mapping[str, Any], has_ended: Callable[[Any], bool], *, impatient: bool = False
) -> None:
    """Sweep every five minutes until every row has ended.

    impatient: late work may still land afterwards.
    """
    swept = run.simulation.now
    for _ in range(_MAX_SWEEPS):
        while run.simulation.now < swept + SWEEP_EVERY:
            run.simulation.run(until=run.simulation.now + (_LOOK_EVERY if impatient else SWEEP_EVERY))
            if all(map(has_ended, rows.values())) and (run.simulation.quiet or (impatient and rows)):
                return
        swept = run.simulation.now
        run.spawn(run.sweep)


def let_expire(run: Any, tables: Iterable[str]) -> None:
    """Let TTL delete some of the expired rows in these tables."""
    moment = START.timestamp() + run.simulation.now
    for table, key in expired(run.engine.stack, moment, tables):
        if run.chance.random() < _DELETED:
            expire(table, key, moment)
