"""Plays one scenario to its end, and checks the invariants at each moment of rest."""

import itertools
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from idempotency import IdempotencyError
from stepwise.operations.errors import CommandError
from tests.faults import edges as e
from tests.faults import faults as f
from tests.faults import history_invariants, losing, row_invariants, rows
from tests.faults.engine import Engine
from tests.faults.faults import Fault
from tests.faults.history_invariants import Violation
from tests.faults.notes import Point
from tests.faults.persons import needs_a_person
from tests.faults.run import Run
from tests.faults.scenario import Scenario, is_order
from tests.faults.seams import Document

_numbers = itertools.count(1)
_BETWEEN_SWEEPS = 900
_NOT_ON_TIME = {f.EVENT_LOST, f.EVENT_LATE}


@dataclass(frozen=True, slots=True)
class Outcome:
    """Result of a scenario. points: where a fault was possible. injected: number of the scenario's injected faults."""

    scenario: Scenario
    violations: tuple[Violation, ...]
    points: tuple[Point, ...]
    trace: tuple[str, ...]
    injected: int


def play(engine: Engine, scenario: Scenario, *, watching: bool = False) -> Outcome:
    """Run the scenario with its own order and SKUs. watching: note the order's records at each place of rest."""
    run = new_run(engine, scenario, watching=watching)
    life = _Life(engine, run)
    try:
        seed(engine, run)
        life.live()
        return Outcome(scenario, tuple(life.violations), tuple(run.points), tuple(run.trace), len(run.injected))
    finally:
        clear(engine, run)


def new_run(engine: Engine, scenario: Scenario, *, watching: bool = False) -> Run:
    """Create a run with its own id, which directs the engine until `clear`."""
    run = Run(scenario, f"o-{os.getpid()}-{next(_numbers)}", engine=engine, watching=watching)
    engine.use_gateway(run.by_gateway)
    engine.gateway.reset()
    engine.clock.reset()
    engine.director = run
    return run


@dataclass
class _Life:
    """The life of an order, from the saga's start until nothing can happen any more."""

    engine: Engine
    run: Run
    violations: list[Violation] = field(default_factory=list)

    def live(self) -> None:
        run = self.run
        self._live_once(run.document)
        for fault in self._to_come:
            run.inject(fault)
            run.edges.start_over(e.records(fault.at))
            self._live_once(run.document if fault.kind == e.PLACED_AGAIN else run.other)

    @property
    def _to_come(self) -> list[Fault]:
        """Remaining uses of the order's id."""
        faults = self.run.scenario.faults
        return [one for one in faults if one.kind in {e.PLACED_AGAIN, e.REUSED} and one not in self.run.injected]

    def _live_once(self, document: Document) -> None:
        run = self.run
        run.run_saga(document)
        self._judge("at the saga's end")
        self._finalize()
        run.finalized = True
        if any(fault.landing == f.AFTER_FINALIZATION for fault in run.scenario.faults):
            self._judge("once finalized")
        run.reached(f.AFTER_FINALIZATION)
        self._judge(
            "after finalization", finalized=True, strong=not needs_a_person(self.run.injected) and not run.landed
        )
        if self._anything_later():
            self._judge("when all has landed", finalized=True, strong=not needs_a_person(self.run.injected))
        if needs_a_person(self.run.injected):
            self._repair()
            self._judge("after an operator's repairs", finalized=True, strong=True)
        if run.edges.rows.edited and not run.tampered:
            run.say("an operator puts the rows back")
            run.edges.rows.put_back(rows.read(self.engine, run)[run.order_id])
            run.sweep()
            self._repair()
            self._judge("once the rows are put back", finalized=True, strong=True)

    def _finalize(self) -> None:
        run = self.run
        run.stopped = (broken := run.first(e.BROKEN)) is not None and broken not in run.injected
        on_time = not any(run.has(kind) for kind in _NOT_ON_TIME)
        if on_time:
            for _ in range(3 if run.has(f.EVENT_THRICE) else 1):
                run.deliver()
        if broken and run.stopped:
            run.inject(broken)
            run.sweep()
            self._judge("while finalization is broken")
            run.edges.lose(e.records(broken.at))
            run.stopped = False
        if run.undelivered or not on_time:
            run.sweep()

    def _anything_later(self) -> bool:
        """Let everything in flight arrive; return whether there was anything."""
        run = self.run
        late = run.has(f.EVENT_LATE)
        if late:
            run.deliver()
        run.reached(f.AT_LAST)
        expired = run.first(e.EXPIRED_EVENT)
        if expired and expired not in run.injected:
            run.inject(expired)
            run.edges.expired_event(expired.at)
        # Pending work may land when the id is used again.
        if not self._to_come:
            run.land_all()
        if run.landed or expired:
            run.sweep()
        return late or bool(run.landed or expired)

    def _repair(self) -> None:
        """Repair what stays broken, as an operator, and recover what `attention` lists, again after a fault."""
        run = self.run
        run.lifted = True
        run.say("an operator mends what was broken for good")
        run.sweep()
        injected = -1
        while injected != len(run.injected):
            injected = len(run.injected)
            self._recover_what_is_listed()
        run.sweep()

    def _recover_what_is_listed(self) -> None:
        run, operators = self.run, self.engine.operators
        for document in (None, run.document, run.other):
            for order_id in sorted({*operators.listed(), *(operators.audited() & {*run.order_ids})}):
                try:
                    run.recover(order_id, document)
                    run.say(f"recover {order_id}: done")
                except (CommandError, IdempotencyError) as refusal:
                    run.say(f"recover {order_id}: {type(refusal).__name__}")
                run.calm_down()

    def _unheard_of(self, order: rows.Rows) -> bool:
        """True if nothing knows of the execution: its input is not an order, and its status event was not handled."""
        return order.order is None and not is_order(self.run.document) and not self.run.heard

    def _judge(self, when: str, *, finalized: bool = False, strong: bool = False) -> None:
        engine, run = self.engine, self.run
        found = rows.read(engine, run)
        unknown = run.alone or self._unheard_of(found[run.order_id])
        finalized, strong = finalized and not unknown, strong and not unknown
        # The first sweep may have started a recovery, and counts what stands only after that has ended.
        for _ in range(2 if finalized else 0):
            if row_invariants.left(found):
                run.sweep()
                found = rows.read(engine, run)
        if run.edges.rows.edited:
            self._judge_rows(when, found, finalized=finalized)
            return
        histories = history_invariants.histories(engine, run)
        (saga,) = (history for history in histories if history.execution is run.saga)
        broken = [*row_invariants.at_rest(run, found), *losing.at_rest(run, found)]
        for history in histories:
            broken += history_invariants.of_execution(run, history)
            broken += (
                history_invariants.unforced(run, history, histories) if not needs_a_person(self.run.injected) else ()
            )
        if when == "at the saga's end":
            broken += history_invariants.of_saga(run, saga, found[run.order_id])
        if strong:
            broken += row_invariants.finalized(run, histories, found)
        if finalized:
            if row_invariants.left(found):
                # `attention` omits orders that finalization may not have reached yet.
                engine.clock.move(_BETWEEN_SWEEPS)
            broken += row_invariants.listed(run, found)
        self._note(when, broken)

    def _judge_rows(self, when: str, found: Mapping[str, rows.Rows], *, finalized: bool) -> None:
        """Judge rows that somebody has edited: they need only be listed."""
        run = self.run
        broken = [*run.broken, *losing.at_rest(run, found)]
        if finalized:
            # `attention` omits orders that finalization may not have reached yet.
            self.engine.clock.move(_BETWEEN_SWEEPS)
            run.sweep()
            found = rows.read(self.engine, run)
            # Nothing knows of a row that is deleted together with its records.
            broken += losing.listed(run, found, [] if run.tampered else row_invariants.left(found))
        self._note(when, broken)

    def _note(self, when: str, broken: Iterable[tuple[str, str]]) -> None:
        known = {(violation.invariant, violation.detail) for violation in self.violations}
        new = [Violation(invariant, detail, when) for invariant, detail in broken if (invariant, detail) not in known]
        for violation in new:
            self.run.say(f"VIOLATION {violation}")
        self.violations += new


def seed(engine: Engine, run: Run) -> None:
    """Write the data that the saga needs."""
    if not run.stock:
        return
    stock = [{"pk": {"S": f"STOCK#{sku}"}, "on_hand": {"N": str(stocked)}} for sku, stocked in run.stock.items()]
    _write(engine, {engine.stack.name("InventoryTable"): [{"PutRequest": {"Item": item}} for item in stock]})


def clear(engine: Engine, run: Run) -> None:
    """Delete the run's rows: the next sweep must not see them, and scans must not grow."""
    engine.director = None
    keys = rows.keys(engine, run).items()
    _write(engine, {table: [{"DeleteRequest": {"Key": key}} for key in of_table] for table, of_table in keys})
    engine.forget()


def _write(engine: Engine, requests: Mapping[str, object]) -> None:
    engine.plain("BatchWriteItem", {"RequestItems": requests})
