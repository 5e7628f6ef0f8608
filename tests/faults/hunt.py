"""How each mutant is looked for."""

from dataclasses import dataclass

from tests.faults import gateway_mutants, mutants  # noqa: F401 - each mutant registers itself
from tests.faults.mutant import MUTANTS
from tests.faults.scenario import Scenario
from tests.faults.workers import Result, Wanted, engine, played


@dataclass(frozen=True, slots=True)
class Finding:
    """How a mutant was found. result: the first run that broke a law, if any; tried: how many runs it took."""

    mutant: str
    result: Result | None
    tried: int


def hunt(name: str) -> Finding:
    """Put the mutant on in this process and try its orders without a fault, then with single faults, until it fails."""
    tried = 0
    with MUTANTS[name].patch(engine()):
        clean: list[Result] = []
        for scenario in map(Scenario, MUTANTS[name].orders):
            clean.append(played(scenario, Wanted()))
            tried += 1
            if clean[-1].violations:
                return Finding(name, clean[-1], tried)
        for result in clean:
            for fault in (fault for fault in result.candidates if fault.at.startswith(MUTANTS[name].at)):
                struck = played(Scenario(result.scenario.order, (fault,)))
                tried += 1
                if struck.violations:
                    return Finding(name, struck, tried)
    return Finding(name, None, tried)
