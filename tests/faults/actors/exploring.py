"""Plays many schedules in several processes, and reports what they reached."""

import argparse
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table

from tests.faults.actors.schedule import Schedule
from tests.faults.actors.totals import Outcome, Totals
from tests.faults.faults import listing
from tests.faults.workers import Workers, wanted_dynamodb

_SCHEDULES = 10_000
_TELL_EVERY = 1000


@dataclass(frozen=True, slots=True)
class Explorer[T: Totals]:
    """The explorer of one context. play: plays one schedule, in this process.

    chunk: schedules per task of a process.
    """

    schedule: type[Schedule]
    play: Callable[[Any], Outcome]
    totals: type[T]
    chunk: int = 25

    def explored(self, pool: ProcessPoolExecutor, first: int, number: int) -> Iterator[T]:
        """Yield the running totals, after each chunk of seeds."""
        seeds = range(first, first + number)
        chunks = [seeds[start : start + self.chunk] for start in range(0, number, self.chunk)]
        futures: list[Future[T]] = [pool.submit(self._played, chunk) for chunk in chunks]
        totals = self.totals()
        for future in futures:
            totals.merge(future.result())
            yield totals

    def _played(self, seeds: Sequence[int]) -> T:
        totals = self.totals()
        for seed in seeds:
            totals.add(self.play(self.schedule(seed)))
        return totals

    def trace(self, scenario: str) -> list[str]:
        """Play one schedule in this process; returns the injected faults and the trace. Raises ValueError."""
        outcome = self.play(self.schedule.parse(scenario))
        return [str(outcome.injected), *outcome.trace]

    def replayed(self, pool: ProcessPoolExecutor, scenario: str) -> list[list[str]]:
        """Return the traces of a schedule that is played three times, and then with the faults that it drew."""
        drawn = [started.result() for started in [pool.submit(self.trace, scenario) for _ in range(3)]]
        return [*drawn, pool.submit(self.trace, drawn[0][0]).result()]

    def replay(self, scenario: str) -> int:
        """Play one schedule, and print its trace. Raises ValueError."""
        outcome = self.play(self.schedule.parse(scenario))
        _say("\n".join([str(outcome.injected), *outcome.trace]))
        _say(f"{len(outcome.injected.faults or ())} faults injected, {len(outcome.violations)} violations")
        return 1 if outcome.violations else 0

    def main(self) -> int:
        """Run the command `python -m tests.faults.NAME`. Exit status: 0 if every invariant held."""
        name = self.schedule.NAME
        description = f"Play schedules of {name}, or replay one."
        parser = argparse.ArgumentParser(
            prog=f"python -m tests.faults.{name}",
            description=description,
            epilog=listing(self.schedule.KINDS),
            formatter_class=argparse.RawDescriptionHelpFormatter,
        )
        parser.add_argument("scenario", nargs="?", help=f"one schedule to replay, such as '{name} 17'")
        parser.add_argument("--schedules", type=int, default=_SCHEDULES, help="how many")
        parser.add_argument("--seed", type=int, default=1, help="of the first one")
        arguments = parser.parse_args()
        try:
            with wanted_dynamodb() as command:
                if arguments.scenario:
                    return self.replay(arguments.scenario)
                return self._explore(arguments.seed, arguments.schedules, command)
        except ValueError as error:
            parser.error(str(error))

    def _explore(self, first: int, number: int, command: str) -> int:
        began = time.monotonic()
        totals = self.totals()
        with Workers() as workers:
            for totals in self.explored(workers.pool, first, number):
                if totals.schedules % _TELL_EVERY == 0:
                    _say(f"{totals.schedules:,} of {number:,} schedules, {len(totals.failed)} violations")
        self._print(totals, time.monotonic() - began, workers.count, command)
        return 1 if totals.failed else 0

    def _print(self, totals: T, seconds: float, processes: int, command: str) -> None:
        """Print what was injected and reached, and every violation with the command that replays it."""
        console = Console(width=160)
        table = Table("fault", "injected", "schedules", "violations")
        for column in table.columns[1:]:
            column.justify = "right"
        for kind in self.schedule.KINDS:
            counts = (totals.faults[kind], totals.schedules_with[kind], totals.violations[kind])
            table.add_row(kind, *(f"{count:,}" for count in counts))
        console.print(table)
        for text, violations in totals.failed:
            console.print(f"[red]VIOLATION[/] {command} SCENARIO='{text}'", soft_wrap=True)
            for invariant, detail in violations:
                console.print(f"    {invariant}: {detail}", soft_wrap=True, markup=False)
        calls = {(function, operation) for function, operation, _ in totals.hits}
        console.print(
            f"{totals.schedules:,} schedules ({totals.clean:,} without a fault), {totals.faults.total():,} faults, "
            f"{len(totals.failed)} violations",
            f"{totals.outcomes.total():,} invocations with {len(totals.outcomes)} outcomes, "
            f"{totals.calls.total():,} calls, with faults at {len(calls)} of {len(totals.calls)} kinds",
            f"executions ended from outside at {len({state for state, _ in totals.stops})} states, "
            f"in {len(totals.stops)} ways",
            *totals.reached(),
            f"{totals.hours:,.0f} hours of virtual time in {seconds:.0f} s on {processes} processes, "
            f"{totals.schedules / seconds:.0f} schedules a second",
            sep="\n",
        )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
