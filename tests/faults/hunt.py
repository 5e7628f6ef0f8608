"""The search for each mutant."""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain

from tests.faults import edge_mutants, finds, gateway_mutants, mutants  # noqa: F401 - each mutant registers itself
from tests.faults.mutant import MUTANTS, Mutant
from tests.faults.scenario import Scenario
from tests.faults.workers import Result, Wanted, engine, played

ORDERS = "orders"


@dataclass(frozen=True, slots=True)
class Finding:
    """The result of a search. result: the first run that broke an invariant, if any. tried: number of runs."""

    mutant: str
    result: Result | None
    tried: int


def hunt(name: str) -> Finding:
    """Apply the mutant in this process and try its scenarios until one fails."""
    tried = 0
    with MUTANTS[name].patch(engine()):
        for result in chain(_known(name, MUTANTS[name]), _runs(MUTANTS[name])):
            tried += 1
            if result.violations:
                return Finding(name, result, tried)
    return Finding(name, None, tried)


def _known(name: str, mutant: Mutant) -> Iterator[Result]:
    """Yield the run that found the mutant before, if one is known."""
    if text := finds.of(ORDERS).get(name):
        yield played(Scenario.parse(text), Wanted(None, None) if mutant.edges else Wanted())


def _runs(mutant: Mutant) -> Iterator[Result]:
    """Yield each order without a fault, then with each single fault; `inside` is the place of a second one."""
    wanted = Wanted(None, None) if mutant.edges else Wanted()
    clean: list[Result] = []
    for order in mutant.orders:
        clean.append(played(Scenario(order), wanted))
        yield clean[-1]
    for result in clean:
        edges = [fault for fault in result.edges if fault.kind in mutant.edges]
        for fault in edges if mutant.edges else result.candidates:
            if fault.at.startswith(mutant.at):
                single = played(Scenario(result.scenario.order, (fault,)), wanted if mutant.inside else None)
                yield single
                yield from _pairs(mutant, single)


def _pairs(mutant: Mutant, single: Result) -> Iterator[Result]:
    for other in (*single.candidates, *single.edges) if mutant.inside else ():
        if other.at.startswith(mutant.inside) and other not in single.scenario.faults:
            yield played(Scenario(single.scenario.order, (*single.scenario.faults, other)))
