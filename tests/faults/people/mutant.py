"""The registry of mutants, and their shared patches."""

import json
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager
from typing import Any

from ministack.services import stepfunctions

from tests.faults.actors.mutant import Mutants
from tests.faults.people import play
from tests.faults.seams import Document

MUTANTS = mutant = Mutants()


@contextmanager
def edited(edit: Callable[[Document], None], *machines: str) -> Iterator[None]:
    """Deploy machines with edited states."""
    with ExitStack() as stack:
        for name in machines:
            machine = stepfunctions._state_machines[play.engine().stack.arn(name)]
            stack.callback(machine.update, {"definition": machine["definition"]})
            definition = json.loads(machine["definition"])
            edit(definition["States"])
            machine["definition"] = json.dumps(definition)
        yield


def both(*patches: AbstractContextManager[Any]) -> AbstractContextManager[Any]:
    stack = ExitStack()
    for patch in patches:
        stack.enter_context(patch)
    return stack
