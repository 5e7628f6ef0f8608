"""Executes the faults of `edges` and the stray calls of `faults`, each as work that lands at its place."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING

from idempotency import IdempotencyError
from stepwise.operations.errors import CommandError
from tests.faults import edges as e
from tests.faults import faults as f
from tests.faults.engine import SAGA
from tests.faults.faults import Fault
from tests.faults.losing import StepRows
from tests.faults.notes import Late, Point
from tests.faults.records import DAY, Records
from tests.faults.seams import Document

if TYPE_CHECKING:
    from tests.faults.run import Run

# Records live for 30 days in the explorer's stack, executions for 90.
_EXPIRY_DAYS, _FORGETTING_DAYS = 31, 91
_PLACES_OF_REST = ("before ", "after ", f.AT_LAST)


class Edges:
    """The scenario's faults outside calls and invocations, and the order's records and rows."""

    def __init__(self, run: "Run") -> None:
        self._run = run
        self.records = Records(run.engine, run.order_id)
        self.rows = StepRows(run.engine, run.order_id)

    def expected(self) -> Iterator[Late]:
        """Yield the pending work."""
        for number, fault in enumerate(self._run.scenario.faults):
            work = self._work(fault, f"{self._run.order_id}.second{number}")
            if work:
                yield fault, str(fault), work

    def watch(self, place: str) -> None:
        """Note the records at a quiescent place, for backups and for candidates."""
        if place.startswith(_PLACES_OF_REST) and "second." not in place and "neighbor." not in place:
            records, rows = self.records.back_up(place), self.rows.back_up(place)
            self._run.points.append(Point(place, "rest", records=records, rows=rows))

    def pass_days(self, days: int) -> None:
        """Let everything in flight arrive, then let time pass and records expire."""
        self._run.land_in_flight()
        self._run.engine.clock.move(days * DAY)

    def lose(self, names: list[str]) -> None:
        """Let records expire, and TTL delete these."""
        self.pass_days(_EXPIRY_DAYS)
        self.records.delete(names)
        self._run.tampered.update(names)
        self._run.say(self.records.described())

    def start_over(self, kept: list[str]) -> None:
        """Let Step Functions forget the executions and the gateway its keys; keep these expired records."""
        run = self._run
        self.pass_days(_FORGETTING_DAYS)
        self.lose([name for name in self.records.read() if name not in kept])
        run.engine.forget()
        run.engine.gateway.forget_keys()
        run.events.clear()

    def expired_event(self, machine: str) -> None:
        """Deliver a machine's last status event again after all records have expired."""
        run = self._run
        events = [event for event in run.delivered if event["Resources"][0].split(":")[6] == machine]
        self.lose([*self.records.read()])
        for event in events[-1:]:
            run.hand_over(event)
            run.calm_down()

    def _work(self, fault: Fault, name: str) -> Callable[[], object] | None:
        run, at = self._run, fault.at
        works: dict[str, Callable[[], object]] = {
            f.STRAY: lambda: self._call(at, run.document, 1),
            e.STRAY_TWICE: lambda: self._call(at, run.document, 2),
            e.FOREIGN: lambda: self._call(at, run.other, 1),
            e.FOREIGN_TWICE: lambda: self._call(at, run.other, 2),
            f.SECOND: lambda: self._execute(name, run.document),
            e.FOREIGN_EXECUTION: lambda: self._execute(name, run.other),
            e.NEIGHBOR: lambda: self._execute(run.neighbor_id, run.neighbor),
            e.EXPIRE: lambda: self._expire(e.records(at)),
            e.DELETED: lambda: self.lose(e.records(at)),
            e.RESTORED: lambda: self._restore(e.records(at), e.moment(at)),
            e.ROW_LOST: lambda: self._edit(at, None),
            e.ROW_BACK: lambda: self._edit(*e.records(at), self.rows.backups.get(e.moment(at), {}).get(*e.records(at))),
            e.FORGETS: self._forget_keys,
            e.OPERATOR: lambda: self._command(at),
        }
        return works.get(fault.kind)

    def _call(self, function: str, document: Document, times: int) -> None:
        for _ in range(times):
            self._run.call_stray(f"{function}Function", document)

    def _execute(self, name: str, document: Document) -> None:
        """Run another execution to its end while the first one waits. Each name is used once."""
        if any(execution["name"] == name for execution in self._run.engine.executions()):
            return
        self._run.engine.start_execution(SAGA, name, document)
        self._run.outside(self._run.calm_down)

    def _expire(self, names: list[str]) -> None:
        self.pass_days(_EXPIRY_DAYS)
        self.records.expire(names)
        self._run.say(self.records.described())

    def _restore(self, names: list[str], place: str) -> None:
        self.records.restore(names, place)
        self._run.tampered.update(names)
        self._run.say(self.records.described())

    def _edit(self, step: str, row: Document | None) -> None:
        self.rows.write(step, row)
        self._run.say(f"the row of {step}: {row['status']['S'] if row else 'gone'}")

    def _forget_keys(self) -> None:
        self._run.land_in_flight()
        self._run.engine.gateway.forget_keys()

    def _command(self, command: str) -> None:
        """Run one of `COMMANDS`, and note if it is rejected."""
        try:
            self._run.outside(self._commands()[command])
            self._run.say(f"{command}: done")
        except (CommandError, IdempotencyError) as refusal:
            self._run.say(f"{command}: {type(refusal).__name__}")
        self._run.outside(self._run.calm_down)

    def _commands(self) -> dict[str, Callable[[], object]]:
        run, operators, order_id = self._run, self._run.engine.operators, self._run.order_id
        return {
            "recover": partial(run.recover, order_id),
            "recover--file": partial(run.recover, order_id, run.document),
            "recover--other-file": partial(run.recover, order_id, run.other),
            "release": partial(operators.release, order_id),
            "resolve": lambda: operators.resolve(order_id, run.engine.gateway.charge_id(order_id)),
        }
