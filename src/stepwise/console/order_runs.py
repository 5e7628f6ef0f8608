"""The executions of an order or an application, as lines with links to their pages."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from idempotency.saga import Saga
from stepwise.operations.executions import Execution


@dataclass(frozen=True, slots=True)
class RunLine:
    """One line. title: its role for the order. machine, name: identify its page. why: the last error, if it failed."""

    title: str
    machine: str
    name: str
    status: str
    started: datetime | None
    took: timedelta | None
    states: int
    attempts: int
    why: str


def lines(saga: Saga, execution: Execution | None, recoveries: Iterable[Execution]) -> list[RunLine]:
    """Return the saga's execution, and its recoveries, oldest first."""
    return list(_lines(saga, execution, recoveries))


def _lines(saga: Saga, execution: Execution | None, recoveries: Iterable[Execution]) -> Iterator[RunLine]:
    if execution:
        yield _line("saga", saga.machine, execution)
    for number, one in enumerate(recoveries, start=1):
        yield _line("recovery" if number == 1 else f"recovery {number}", saga.recovery, one)


def _line(title: str, machine: str, one: Execution) -> RunLine:
    took = one.ended - one.started if one.ended and one.started else None
    attempts = sum(visit.attempts for visit in one.states)
    why = str(one.last or "")
    return RunLine(title, machine, one.name, one.status, one.started, took, len(one.states), attempts, why)
