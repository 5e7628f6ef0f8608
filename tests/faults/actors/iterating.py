"""Executions with an inline Map, and functions that end when they time out."""

from abc import ABC
from functools import partial
from typing import Any

from ministack.services import stepfunctions

from tests.faults.actors import executing as shared
from tests.faults.actors.simulation import Flag, Gone
from tests.faults.invocation import Died, Invocation
from tests.faults.seams import Document


class Iterating(shared.Executing, ABC):
    """Hooks of the engine of state machines."""

    # Functions end when they time out.

    def run_invocation(self, invocation: Invocation) -> Document:
        began = self.simulation.now
        invocation.remaining = lambda: invocation.timeout - (self.simulation.now - began)
        return super().run_invocation(invocation)

    def fault_at_call(self, invocation: Invocation) -> str:
        assert invocation.remaining is not None
        if invocation.remaining() <= 0:
            invocation.dead = True
            raise Died
        return super().fault_at_call(invocation)

    def items(self, state: Document, document: Any, execution: Document, context: Document) -> Any:
        """Run an inline Map: a few iterations at once.

        The end of the execution cuts them off, but functions continue.
        """
        values = stepfunctions._resolve_path(state["ItemsPath"], document)
        free = state.get("MaxConcurrency") or stepfunctions._resolve_path(state["MaxConcurrencyPath"], document)
        results: list[Any] = [None] * len(values)
        left, running = list(enumerate(values)), 0
        changed = [Flag(self.simulation)]

        def iteration(index: int, value: Any) -> None:
            nonlocal running
            inner = {**shared.branch_context(context), "Map": {"Item": {"Index": index, "Value": value}}}
            given = stepfunctions._resolve_params_obj(state["ItemSelector"], document, inner)
            processor = state["ItemProcessor"]
            try:
                results[index] = stepfunctions._run_sub_machine(
                    processor["States"], processor["StartAt"], given, execution, inner
                )
            finally:
                running -= 1
                changed[0].set()

        while left or running:
            while left and running < free and execution["status"] == "RUNNING":
                running += 1
                self.spawn(partial(iteration, *left.pop(0)), self.chance.uniform(0, 0.1))
            if execution["status"] != "RUNNING":
                raise Gone
            changed[0] = Flag(self.simulation)
            changed[0].wait()
        if execution["status"] != "RUNNING":
            raise Gone
        return stepfunctions._apply_result_path(state, document, results), stepfunctions._next_or_end(state)
