"""Plays many schedules in several processes, and counts what they reached."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from tests.faults.commands.play import Outcome, play
from tests.faults.commands.schedule import KINDS, Schedule

CHUNK = 50


@dataclass
class Totals:
    """hits: faults at calls, by function, operation and kind. stops: ends from outside, by state and kind.

    arrivals: orders in which the first three versions began. states: distinct ones of a key. hours: of virtual time.
    two_keys: schedules with another key. skipping: schedules whose type skips dead versions.
    """

    schedules: int = 0
    clean: int = 0
    two_keys: int = 0
    skipping: int = 0
    faults: Counter[str] = field(default_factory=Counter)
    schedules_with: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    hits: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stops: Counter[tuple[str, str]] = field(default_factory=Counter)
    arrivals: Counter[tuple[int, ...]] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    states: set[str] = field(default_factory=set)
    hours: float = 0
    failed: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one schedule."""
        faults = outcome.injected.faults or ()
        kinds = {fault.kind for fault in faults}
        self.schedules += 1
        self.clean += not faults
        self.two_keys += outcome.keys > 1
        self.skipping += outcome.skips
        self.faults.update(fault.kind for fault in faults)
        self.schedules_with.update(kinds)
        for name in ("outcomes", "calls", "hits", "stops", "ends"):
            getattr(self, name).update(getattr(outcome, name))
        self.arrivals[tuple(version for version in outcome.starts if version <= 3)] += 1
        self.states |= outcome.states
        self.hours += outcome.seconds / 3600
        if outcome.violations:
            self.violations.update(kinds)
            self.failed.append((str(outcome.injected), outcome.violations))

    def merge(self, other: "Totals") -> None:
        """Count what another process has counted."""
        for name in (
            "faults",
            "schedules_with",
            "violations",
            "outcomes",
            "calls",
            "hits",
            "stops",
            "arrivals",
            "ends",
        ):
            getattr(self, name).update(getattr(other, name))
        for name in ("schedules", "clean", "two_keys", "skipping", "hours"):
            setattr(self, name, getattr(self, name) + getattr(other, name))
        self.states |= other.states
        self.failed += other.failed


def played(seeds: Sequence[int]) -> Totals:
    """Play these in this process."""
    totals = Totals()
    for seed in seeds:
        totals.add(play(Schedule(seed)))
    return totals


def explored(pool: ProcessPoolExecutor, first: int, number: int) -> Iterator[Totals]:
    """The sums, after each chunk of seeds."""
    seeds = range(first, first + number)
    chunks = [seeds[start : start + CHUNK] for start in range(0, number, CHUNK)]
    futures: list[Future[Totals]] = [pool.submit(played, chunk) for chunk in chunks]
    totals = Totals()
    for future in futures:
        totals.merge(future.result())
        yield totals


def print_report(totals: Totals, seconds: float, processes: int) -> None:
    """Print what was injected and reached, and every violation with the command that replays it."""
    console = Console(width=160)
    table = Table("fault", "injected", "schedules", "violations")
    for column in table.columns[1:]:
        column.justify = "right"
    for kind in KINDS:
        counts = (totals.faults[kind], totals.schedules_with[kind], totals.violations[kind])
        table.add_row(kind, *(f"{count:,}" for count in counts))
    console.print(table)
    for text, violations in totals.failed:
        console.print(f"[red]VIOLATION[/] make faults SCENARIO='{text}'", soft_wrap=True)
        for invariant, detail in violations:
            console.print(f"    {invariant}: {detail}", soft_wrap=True, markup=False)
    calls = {(function, operation) for function, operation, _ in totals.hits}
    console.print(
        f"{totals.schedules:,} schedules ({totals.clean:,} without a fault, {totals.two_keys:,} with two keys, "
        f"{totals.skipping:,} with a type that skips), {totals.faults.total():,} faults, "
        f"{len(totals.failed)} violations",
        f"{totals.outcomes.total():,} invocations with {len(totals.outcomes)} outcomes, "
        f"{totals.calls.total():,} calls, with faults at {len(calls)} of {len(totals.calls)} kinds",
        f"executions ended from outside at {len({state for state, _ in totals.stops})} states, "
        f"in {len(totals.stops)} ways",
        f"{len(totals.states):,} states of a key, {len(totals.arrivals)} orders of arrival, "
        f"ends: {', '.join(f'{count:,} {end}' for end, count in totals.ends.most_common())}",
        f"{totals.hours:,.0f} hours of virtual time in {seconds:.0f} s on {processes} processes, "
        f"{totals.schedules / seconds:.0f} schedules a second",
        sep="\n",
    )
