"""Processes that play scenarios, one engine each: the engine changes loaded modules, which no test process should."""

import multiprocessing
import os
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from functools import cache

from tests.engines import dynamodb_local
from tests.faults.candidates import faults_of
from tests.faults.engine import Engine
from tests.faults.faults import Fault
from tests.faults.laws import Violation
from tests.faults.play import Outcome, play
from tests.faults.scenario import Scenario
from tests.faults.seams import DYNAMODB_ENDPOINT
from tests.faults.stack import Stack

CHUNK = 100


@dataclass(frozen=True, slots=True)
class Result:
    """struck: how many of its faults did. candidates: those that could strike this run too, if they were asked for."""

    scenario: Scenario
    violations: tuple[Violation, ...]
    struck: int
    seconds: float
    candidates: tuple[Fault, ...] = ()


@cache
def engine() -> Engine:
    """The engine of this process."""
    # Behind one DynamoDB Local, each process has tables of its own: a sweep sees its own orders only.
    prefix = f"p{os.getpid()}-" if DYNAMODB_ENDPOINT in os.environ else ""
    return Engine(Stack(prefix)).start()


def played(scenario: Scenario, *, candidates: bool = False) -> Result:
    """Play one scenario in this process."""
    began = time.perf_counter()
    outcome = play(engine(), scenario)
    seconds = time.perf_counter() - began
    return Result(scenario, outcome.violations, outcome.struck, seconds, _candidates(outcome) if candidates else ())


def traced(scenario: Scenario) -> tuple[str, ...]:
    """Play one scenario in this process; returns what happened, line by line."""
    return play(engine(), scenario).trace


def _candidates(outcome: Outcome) -> tuple[Fault, ...]:
    return tuple(faults_of(outcome.points))


def _play_all(scenarios: Sequence[Scenario], candidates: bool) -> list[Result]:
    return [played(scenario, candidates=candidates) for scenario in scenarios]


class Workers:
    """One process for each core. dynamodb: "local" for AWS's own engine; raises `dynamodb_local.Unavailable`."""

    def __init__(self, *, dynamodb: str = "") -> None:
        self._dynamodb = dynamodb
        self._stack = ExitStack()

    def __enter__(self) -> "Workers":
        with ExitStack() as stack:
            endpoint = stack.enter_context(dynamodb_local.serving()) if self._dynamodb == "local" else None
            self.count = os.process_cpu_count() or 1
            context = multiprocessing.get_context("spawn")
            pool = ProcessPoolExecutor(self.count, context, initializer=_begin, initargs=(endpoint,))
            self.pool = stack.enter_context(pool)
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self.pool.shutdown(cancel_futures=True)
        self._stack.close()

    def play(self, scenarios: Iterable[Scenario], *, candidates: bool = False) -> Iterator[Result]:
        """Play all, in any order of processes; results come in the order of the scenarios."""
        todo = list(scenarios)
        size = max(1, min(CHUNK, -(-len(todo) // (2 * self.count))))
        chunks = [todo[start : start + size] for start in range(0, len(todo), size)]
        futures: list[Future[list[Result]]] = [self.pool.submit(_play_all, chunk, candidates) for chunk in chunks]
        for future in futures:
            yield from future.result()


def _begin(endpoint: str | None) -> None:
    if endpoint:
        os.environ[DYNAMODB_ENDPOINT] = endpoint
