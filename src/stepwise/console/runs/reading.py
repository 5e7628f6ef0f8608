"""Reads executions for their page: the history goes on where it was left, so that a look costs little."""

import threading
from dataclasses import dataclass, field

from stepwise.console.cache import Recent
from stepwise.operations import histories, machines
from stepwise.operations.histories import History
from stepwise.operations.machines import Described
from stepwise.operations.stack import Stack

from .looks import Items

# A long history has 25,000 events, about 5,000 visits of 1 KB.
_HISTORIES, _DEFINITIONS = 8, 64


@dataclass(slots=True)
class Kept:
    """The history of one execution, as far as it was read. Hold the lock while you read it."""

    history: History = field(default_factory=History)
    lock: threading.Lock = field(default_factory=threading.Lock)


_histories: Recent[Kept] = Recent(_HISTORIES)
_definitions: Recent[str] = Recent(_DEFINITIONS)


def kept(described: Described) -> Kept:
    return _histories.get(described.key, Kept)


def advance(stack: Stack, described: Described, found: Kept) -> None:
    """Read the events that are new. Called with the lock."""
    # A redrive goes on after an end.
    if not (found.history.over and described.listed.ended):
        histories.read(stack, described.arn, found.history)


def definition(stack: Stack, described: Described) -> str:
    return _definitions.get(described.key, lambda: machines.definition(stack, described.arn))


def map_runs(stack: Stack, history: History) -> dict[str, Items]:
    """The items of the execution's Map Runs, by ARN."""
    arns = {visit.map_run for visit in history.visits if visit.map_run}
    return {arn: _items(machines.map_run(stack, arn)) for arn in arns}


def _items(counts: dict[str, int]) -> Items:
    failed = sum(counts.get(name, 0) for name in ("failed", "timedOut", "aborted"))
    return Items(counts.get("succeeded", 0), failed, counts.get("running", 0), counts.get("total"))
