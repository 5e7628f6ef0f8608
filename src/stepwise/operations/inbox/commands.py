"""Keys that a dead version blocks, and targets that lag behind."""

from collections.abc import Iterator

from entities.lagging import GATE
from stepwise.operations import commands
from stepwise.operations.commands import name_of
from stepwise.operations.stack import Stack

from .concern import Concern

_LAGS = {GATE: ("the gate is older than the key's rows", "GatesTable was restored alone, or edited by hand")}


def concerns(stack: Stack, _name: str) -> Iterator[Concern]:
    for one in commands.blocked(stack):
        name = name_of(one.gate.key)
        problem = f"version {one.gate.turn} is dead; {one.gate.published - one.gate.turn} wait for it"
        yield Concern("commands", name, problem, one.error, ("commands", "retry", name, ("--reason", "WHY")), one.since)
    for one in commands.lagging(stack):
        name = name_of(one.gate.key)
        for target in sorted(one.gate.lagging):
            see = ("commands", "rebuild", target, ("--key", name))
            problem, cause = _LAGS.get(target, (f"{target} lags behind", "it could not be written in time"))
            yield Concern("commands", name, problem, cause, see, one.since)
