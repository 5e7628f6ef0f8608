"""Plays one scenario to its end, and holds it to the laws at each moment of rest."""

import itertools
import os
from collections.abc import Mapping
from dataclasses import dataclass

from tests.faults import faults as f
from tests.faults import laws, rows
from tests.faults.engine import Engine
from tests.faults.laws import Violation
from tests.faults.notes import Point
from tests.faults.run import Run
from tests.faults.scenario import Scenario

_numbers = itertools.count(1)
# A recovery that is cut off, or whose calls are refused for a fault on our side, gives up: an alarm says so.
_NEEDS_A_PERSON_IN_RECOVERY = {*f.STATE_KINDS, f.REFUSED}
_NOT_ON_TIME = {f.EVENT_LOST, f.EVENT_LATE}


@dataclass(frozen=True, slots=True)
class Outcome:
    """points: where the run could have been struck. struck: how many of the scenario's faults did strike."""

    scenario: Scenario
    violations: tuple[Violation, ...]
    points: tuple[Point, ...]
    trace: tuple[str, ...]
    struck: int


def play(engine: Engine, scenario: Scenario) -> Outcome:
    """Run the scenario with an order and SKUs of its own."""
    run = Run(scenario, f"o-{os.getpid()}-{next(_numbers)}", engine=engine)
    engine.use_gateway(run.by_gateway)
    engine.gateway.stand_in.reset()
    engine.clock.reset()
    engine.director = run
    try:
        _seed(engine, run)
        violations = _live(engine, run)
        return Outcome(scenario, tuple(violations), tuple(run.points), tuple(run.trace), len(run.struck))
    finally:
        engine.director = None
        _clear(engine, run)


def _live(engine: Engine, run: Run) -> list[Violation]:
    """The life of an order, from the saga's start until nothing more can happen."""
    violations: list[Violation] = []
    run.run_saga()
    _judge(violations, engine, run, "at the saga's end", strong=False)

    on_time = not any(run.has(kind) for kind in _NOT_ON_TIME)
    if on_time:
        for _ in range(3 if run.has(f.EVENT_THRICE) else 1):
            run.deliver()
    if run.undelivered or not on_time:
        run.sweep()
    run.reached(f.AFTER_SETTLEMENT)
    for_good = _for_good(run)
    _judge(violations, engine, run, "after settlement", strong=not for_good and not run.landed)
    if _anything_later(run):
        _judge(violations, engine, run, "when all has landed", strong=not for_good)
    if for_good:
        run.lifted = True
        run.say("an operator repairs what was broken for good")
        run.sweep()
        if run.saga["status"] != "SUCCEEDED" or (run.meddled and not _is_confirmed(engine, run)):
            run.recover(f"{run.order_id}.again")
        _judge(violations, engine, run, "after the fault was lifted", strong=True)
    return violations


def _is_confirmed(engine: Engine, run: Run) -> bool:
    order = rows.read(engine, run).order
    return order is not None and order["status"] == "Confirmed"


def _anything_later(run: Run) -> bool:
    """Let whatever is still under way arrive; returns whether there was anything."""
    late = run.has(f.EVENT_LATE)
    if late:
        run.deliver()
    run.reached(f.AT_LAST)
    if run.land_all() or run.landed:
        run.sweep()
    return late or bool(run.landed)


def _for_good(run: Run) -> bool:
    """Whether an operator is needed: a fault lasts, or the recovery itself has failed (an alarm says so)."""
    return any(
        fault.kind in f.FOR_GOOD or (fault.kind in _NEEDS_A_PERSON_IN_RECOVERY and fault.at.startswith("recovery."))
        for fault in run.struck
    )


def _judge(violations: list[Violation], engine: Engine, run: Run, when: str, *, strong: bool) -> None:
    found = rows.read(engine, run)
    histories = laws.histories(engine, run)
    (saga,) = (history for history in histories if history.execution is run.saga)
    broken = [*laws.at_rest(run, found)]
    for history in histories:
        broken += laws.of_execution(run, history)
        broken += laws.unforced(run, history) if not _for_good(run) else ()
    if when == "at the saga's end":
        broken += laws.of_saga(run, saga, found)
    if strong:
        broken += laws.settled(run, saga, found)
    known = {(violation.law, violation.detail) for violation in violations}
    new = [Violation(law, detail, when) for law, detail in broken if (law, detail) not in known]
    for violation in new:
        run.say(f"VIOLATION {violation}")
    violations += new


def _seed(engine: Engine, run: Run) -> None:
    stock = [{"pk": {"S": f"STOCK#{sku}"}, "on_hand": {"N": str(stocked)}} for sku, stocked in run.stock.items()]
    _write(engine, {engine.stack.name("InventoryTable"): [{"PutRequest": {"Item": item}} for item in stock]})


def _clear(engine: Engine, run: Run) -> None:
    """Take the run's rows away: the next sweep must not see them, and a scan must not grow with each run."""
    keys = rows.keys(engine, run).items()
    _write(engine, {table: [{"DeleteRequest": {"Key": key}} for key in of_table] for table, of_table in keys})
    engine.forget(run.order_id)


def _write(engine: Engine, requests: Mapping[str, object]) -> None:
    engine.plain("BatchWriteItem", {"RequestItems": requests})
