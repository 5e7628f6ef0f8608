"""Invocations of the functions of commands."""

from dataclasses import dataclass

from tests.faults import faults as f
from tests.faults.actors import invoking as shared
from tests.faults.commands.judge import Judge
from tests.faults.commands.notes import Notes
from tests.faults.invocation import Invocation

# The target that each function which only writes targets calls.
_TARGET_OF = {
    **dict.fromkeys(("BatchGetItem", "TransactWriteItems"), "products"),
    **dict.fromkeys(("GetObject", "PutObject"), "catalog"),
}


@dataclass
class Invoking(Notes, shared.Invoking):
    """Invokes functions, and acts at each of their calls."""

    @property
    def tally(self) -> Judge:
        return self.judge

    def fault_at_call(self, invocation: Invocation) -> str:
        current = self.simulation.current
        if current and current.notes.get("fails") == _TARGET_OF.get(invocation.operation, "none"):
            return f.THROTTLED
        return super().fault_at_call(invocation)
