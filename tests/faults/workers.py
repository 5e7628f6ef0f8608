"""Processes that play scenarios, one engine each, because the engine changes loaded modules."""

import multiprocessing
import os
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache

from tests.faults.candidates import edges_of, faults_of
from tests.faults.engine import Engine
from tests.faults.faults import Fault
from tests.faults.history_invariants import Violation
from tests.faults.play import play
from tests.faults.scenario import Scenario
from tests.faults.seams import DYNAMODB_ENDPOINT
from tests.kit.bounded import SECONDS
from tests.kit.deployed_stack import Stack
from tests.kit.engines import dynamodb_local

CHUNK = 100


@dataclass(frozen=True, slots=True)
class Result:
    """Result of a scenario.

    injected: number of its injected faults. candidates, edges: further possible faults of this run.
    """

    scenario: Scenario
    violations: tuple[Violation, ...]
    injected: int
    seconds: float
    candidates: tuple[Fault, ...] = ()
    edges: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Wanted:
    """Maximum number of a result's candidates: those of `faults`, and of `edges`. None: all. Drawn by `seed`."""

    candidates: int | None = None
    edges: int | None = 0
    seed: int = 0

    def drawn(self, scenario: Scenario, faults: Callable[[], list[Fault]], number: int | None) -> tuple[Fault, ...]:
        """Draw the same faults in every run, with each kind of fault equally likely."""
        if number == 0:
            return ()
        if number is None:
            return tuple(faults())
        chance = random.Random(f"{self.seed} {scenario}")  # noqa: S311
        return tuple(spread(faults(), number, lambda fault: fault.kind, chance))


@cache
def engine() -> Engine:
    """Return the engine of this process."""
    # On one DynamoDB Local, each process has its own tables, so that a sweep sees only its own orders.
    prefix = f"p{os.getpid()}-" if DYNAMODB_ENDPOINT in os.environ else ""
    return Engine(Stack(prefix)).start()


def played(scenario: Scenario, wanted: Wanted | None = None) -> Result:
    """Play one scenario in this process."""
    wanted = wanted or Wanted(0)
    began = time.perf_counter()
    outcome = play(engine(), scenario, watching=wanted.edges != 0)
    seconds = time.perf_counter() - began
    return Result(
        scenario,
        outcome.violations,
        outcome.injected,
        seconds,
        wanted.drawn(scenario, lambda: faults_of(outcome.points), wanted.candidates),
        wanted.drawn(scenario, lambda: edges_of(outcome.points), wanted.edges),
    )


def spread[T](everything: Iterable[T], number: int, kind: Callable[[T], str], chance: random.Random) -> list[T]:
    """Draw at most this many: first a kind, then an item of this kind that is not drawn yet."""
    by_kind = defaultdict[str, list[T]](list)
    for one in everything:
        by_kind[kind(one)].append(one)
    for of_kind in by_kind.values():
        chance.shuffle(of_kind)
    kinds = list(by_kind)
    drawn: list[T] = []
    while kinds and len(drawn) < number:
        chosen = chance.choice(kinds)
        drawn.append(by_kind[chosen].pop())
        if not by_kind[chosen]:
            kinds.remove(chosen)
    return drawn


def traced(scenario: Scenario) -> tuple[str, ...]:
    """Play one scenario in this process. Returns its trace, line by line."""
    return play(engine(), scenario).trace


def _play_all(scenarios: Sequence[Scenario], wanted: Wanted | None) -> list[Result]:
    return [played(scenario, wanted) for scenario in scenarios]


@contextmanager
def wanted_dynamodb() -> Iterator[str]:
    """Start AWS's own emulator for this process and its workers, if DYNAMODB is `local`. Yields the command that uses
    it.

    Raises `dynamodb_local.Unavailable`.
    """
    if os.environ.get("DYNAMODB") != "local":
        yield "make faults"
        return
    with dynamodb_local.serving() as endpoint:
        os.environ[DYNAMODB_ENDPOINT] = endpoint
        yield "make faults DYNAMODB=local"


class Workers:
    """One process per core."""

    def __enter__(self) -> "Workers":
        self.count = os.process_cpu_count() or 1
        self.pool = ProcessPoolExecutor(self.count, multiprocessing.get_context("spawn"))
        return self

    def __exit__(self, *_: object) -> None:
        processes = list((self.pool._processes or {}).values())
        self.pool.shutdown(wait=False, cancel_futures=True)
        for process in processes:
            process.join(SECONDS)
            # A hanging worker would keep its parent from ending, too.
            process.kill()

    def play(self, scenarios: Iterable[Scenario], wanted: Wanted | None = None) -> Iterator[Result]:
        """Play all, in any order of processes. Results come in the order of the scenarios."""
        todo = list(scenarios)
        size = max(1, min(CHUNK, -(-len(todo) // (2 * self.count))))
        chunks = [todo[start : start + size] for start in range(0, len(todo), size)]
        futures: list[Future[list[Result]]] = [self.pool.submit(_play_all, chunk, wanted) for chunk in chunks]
        for future in futures:
            yield from future.result()
