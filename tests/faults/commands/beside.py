"""The command that rebuilds a target, or a gate."""

from dataclasses import dataclass

from commands import handlers
from entities.command import Key
from entities.lagging import GATE
from entities.rebuild import Rebuild
from runtime.dynamodb import dynamodb
from stepwise.operations.gates import rebuild_gate
from tests.faults.actors.engine import START
from tests.faults.invocation import Invocation
from tests.faults.seams import Document

REBUILD = "rebuild"


@dataclass
class Rebuilding(Invocation):
    """One `commands rebuild` on an operator's machine."""

    @property
    def timeout(self) -> int:
        return 3600


def rebuild(event: Document, _: object) -> int:
    """Do what the command does for one key, as a handler."""
    tables, key = handlers.gates("data", "history").tables, Key(event["pk"], event["sk"])
    if event["target"] == GATE:
        return rebuild_gate(dynamodb(), tables, key, START)
    return Rebuild(dynamodb(), tables).run(key, event["target"], handlers.targets()[event["target"]], START)
