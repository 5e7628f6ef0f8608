"""The scenarios with faults of `edges`: each alone on every order, and a sample of pairs with one."""

import random
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from tests.faults.faults import Fault
from tests.faults.scenario import ORDERS, Scenario
from tests.faults.workers import Result, Wanted, Workers, spread

# Numbers of faults to draw from each run for pairs: others, and of `edges`.
_OTHERS, _EDGES = 40, 15


@dataclass(frozen=True, slots=True)
class EdgeSingles:
    """Results of the single faults of `edges`. others: those of the other single faults, each with a draw of edges."""

    results: Sequence[Result]
    others: Sequence[Result]

    def pairs(self, number: int, seed: int) -> list[Scenario]:
        """Return at most this many pairs, each kind of `edges` equally often.

        The second fault is taken from the run of the first: inside a second execution, a stray call or a recovery, or
        at the edges of an order that has another fault.
        """
        pairs = {_pair(scenario): scenario for scenario in self._pairs()}
        chance = random.Random(seed)  # noqa: S311
        drawn = spread(pairs.values(), number, _edge, chance)
        # Shuffled, so that an interrupted run has tried a bit of everything.
        chance.shuffle(drawn)
        return drawn

    def _pairs(self) -> Iterator[Scenario]:
        for result in self.results:
            yield from _with_each(result, (*result.candidates, *result.edges))
        for result in self.others:
            yield from _with_each(result, result.edges)


def _with_each(result: Result, candidates: Iterable[Fault]) -> Iterator[Scenario]:
    faults = result.scenario.faults
    if faults:
        yield from (Scenario(result.scenario.order, (*faults, other)) for other in candidates if other not in faults)


def edge_singles(workers: Workers, others: Sequence[Result], *, seed: int = 1, part: int | None = None) -> EdgeSingles:
    """Play the single faults of `edges` on every order.

    others: results of the other single faults. part: at most this many, each kind equally often.
    """
    clean = list(workers.play((Scenario(order) for order in ORDERS), Wanted(0, None)))
    todo: Iterable[Scenario] = (Scenario(result.scenario.order, (fault,)) for result in clean for fault in result.edges)
    if part is not None:
        todo = spread(todo, part, _edge, random.Random(seed))  # noqa: S311
    return EdgeSingles([*clean, *workers.play(todo, Wanted(_OTHERS, _EDGES, seed))], others)


def wanted_of_others(seed: int) -> Wanted:
    """Return what the results of the other single faults need for drawing pairs: all candidates, and some edges."""
    return Wanted(None, _OTHERS, seed)


def _pair(scenario: Scenario) -> tuple[str, frozenset[Fault]]:
    return scenario.order, frozenset(scenario.faults)


def _edge(scenario: Scenario) -> str:
    """Return the kind by which a scenario is drawn."""
    return next((fault.kind for fault in scenario.faults if fault.is_edge), scenario.faults[0].kind)
