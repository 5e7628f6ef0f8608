"""One run of a schedule: orders, operators, and compensations of orders."""

import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from ministack.services import stepfunctions

from ordering.inventory import Inventory
from stepwise.operations import sharding, stock
from tests.faults import faults as f
from tests.faults.actors import executing as shared
from tests.faults.actors.acting import Visit
from tests.faults.invocation import Died, Invocation
from tests.faults.seams import Document
from tests.faults.stock import schedule as s
from tests.faults.stock.engine import Engine
from tests.faults.stock.invariants import ENDS, SPREAD
from tests.faults.stock.judge import Judge
from tests.faults.stock.plan import HOT, MAX_ROWS, Command, Ordered, plan
from tests.kit.deployed_stack import Handler

_COMMAND = "StockCommand"
_TRIES = 12


@dataclass
class Run(shared.Executing):
    """A run; hooks of the engine at each seam. commanding: commands in progress. undone: ids of orders."""

    TEARS: ClassVar = False

    engine: Engine = field(kw_only=True)
    environments: list[Inventory] = field(default_factory=list)
    commanding: int = 0
    commands: int = 0
    undone: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plan = plan(self.schedule)
        self.judge = Judge(self)

    @property
    def tally(self) -> Judge:
        return self.judge

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {**self.engine.handlers, _COMMAND: self._command}

    def environment(self) -> Inventory:
        """Return any environment of the function."""
        return self.chance.choice(self.environments)

    def between_rows(self) -> float:
        """Return the seconds between two rows of a batch."""
        return self.chance.choice((0.0005, 0.002, 0.01, 0.05))

    # Requests

    def place(self, order: Ordered) -> None:
        """Start the saga, and undo it later if it is planned."""
        request = {"name": order.order_id, "input": json.dumps(order.document)}
        status, _, body = stepfunctions._start_execution(
            {"stateMachineArn": self.engine.stack.arn(self.engine.MACHINE), **request}
        )
        assert status == 200, body

    def undo(self, order: Ordered) -> None:
        """Call ReleaseInventory until it succeeds, as a recovery does."""
        name = f"undo.ReleaseInventory@{order.order_id}"
        for number in range(_TRIES):
            answer = self.invoke("ReleaseInventoryFunction", order.document, name)
            if not answer.get("error"):
                self.undone.add(order.order_id)
                return
            self.simulation.sleep(2 * number)
        self.judge.broken(ENDS, f"{name} never answers: {answer['body']}")

    def command(self, command: Command) -> None:
        """Repeat a command, as an operator, until it has a response. The last tries meet no fault."""
        self.commands += 1
        self.commanding += 1
        number_of_it, others = self.commands, self.commanding > 1
        name = f"stock.{command.kind}@{self.commands}"
        event = json.dumps({"kind": command.kind, "number": command.number, "reason": name})
        current = self.simulation.current
        assert current is not None
        for number in range(1, _TRIES):
            current.notes["bare"] = current.notes.get("bare") or number > _TRIES // 2
            answer = self.run_invocation(Invocation(f"{name}#{number}", _COMMAND, event))
            if not answer.get("error"):
                alone = not others and self.commands == number_of_it
                self._judge_command(command, answer["body"], alone=alone)
                self.commanding -= 1
                return
            self.simulation.sleep(1)
        self.commanding -= 1
        self.judge.broken(ENDS, f"{name} never answers: {answer['body']}")

    def _judge_command(self, command: Command, body: Document, *, alone: bool) -> None:
        rows = self.judge.rows_of(HOT)
        if command.kind == "shard" and alone and (len(rows) != command.number or body["rows"] != command.number):
            self.judge.broken(SPREAD, f"{command.number} rows were asked for, there are {sorted(rows)}")

    def _command(self, event: Any, _: Any) -> Any:
        stack, kind, number = self.engine.operators, event["kind"], event["number"]
        if kind == "shard":
            return {"rows": len(sharding.reshard(stack, HOT, number).on_hand)}
        change = stock.add if kind == "add" else stock.set_to
        changed = change(stack, HOT, number, event["reason"])
        return {"again": changed.again}

    # States and invocations.

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any:
        """Run a Task state, with possible ends of its execution before and after it."""
        actor = self.simulation.current
        assert actor is not None
        state = context["State"]["Name"]
        place = f"{state.replace(':', '.')}@{execution['name']}"
        visit = actor.notes["visit"] = Visit(place, execution, context)
        self.go_on(visit)
        kind = self.state_fault(place, state, f.STATE_KINDS, 1)
        return self.stay(visit, kind, run)

    def run_invocation(self, invocation: Invocation) -> Document:
        self.limit(invocation, 60 if invocation.function == _COMMAND else invocation.timeout)
        with self.judge.watching(invocation):
            answer = super().run_invocation(invocation)
            self.judge.answered(invocation, answer)
        return answer

    def fault_at_call(self, invocation: Invocation) -> str:
        assert invocation.remaining is not None
        if invocation.function != _COMMAND and invocation.remaining() <= 0:
            invocation.dead = True
            raise Died
        return super().fault_at_call(invocation)

    def call_weight(self, operation: str) -> float:
        del operation
        invocation = self.invocation
        of_stock = invocation and ("Inventory" in invocation.function or invocation.function == _COMMAND)
        return 4 if of_stock else 0.5

    def meanwhile(self, kind: str) -> None:
        if kind == s.SHARDED_AT:
            self.spawn(partial(self.command, Command("shard", self.later.randint(1, MAX_ROWS), 0)), bare=True)
        if kind == s.RELEASED_AT:
            order = self.later.choice(self.plan.orders)
            self.spawn(partial(self.undo, order), bare=True)

    # Events.

    def publish(self, _message: Any) -> bool:
        self.simulation.sleep(0.02)
        self.go_on(self.visit)
        return True

    def status_changed(self, event: Document) -> None:
        """Undo the order after its end, in some runs."""
        detail = json.loads(event["Detail"])
        if detail["status"] == "RUNNING":
            return
        self.say(f"execution {detail['name']} {detail['status']} {detail.get('error') or ''}".rstrip())
        order = next(one for one in self.plan.orders if one.order_id == detail["name"])
        if detail["status"] == "SUCCEEDED" and order.released is not None:
            self.spawn(partial(self.undo, order), order.released)

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """Judge a written row; its transaction may still be running."""
        self.judge.wrote(table.removeprefix(self.engine.stack.prefix), old, new)

    def carried_out(self, *_: object) -> None:
        self.judge.moment()


def ends(run: Run) -> Counter[str]:
    """Count the orders by how they ended."""
    found = Counter[str]()
    for order in run.plan.orders:
        execution = run.engine.execution(order.order_id)
        assert execution is not None
        found[f"{execution['status']} {execution.get('error') or ''}".strip()] += 1
    return found
