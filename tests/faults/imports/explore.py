"""Plays many schedules of imports in several processes, and counts what they reached."""

from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor
from dataclasses import dataclass, field, fields

from rich.console import Console
from rich.table import Table

from tests.faults.imports.play import Outcome, play
from tests.faults.imports.schedule import KINDS, Schedule

CHUNK = 25


@dataclass
class Totals:
    """As Outcome has them, of all schedules. schedules_with, violations: by kind of fault. hours: of virtual time."""

    schedules: int = 0
    clean: int = 0
    retries: int = 0
    refused: int = 0
    hours: float = 0
    faults: Counter[str] = field(default_factory=Counter)
    schedules_with: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[tuple[str, str]] = field(default_factory=Counter)
    calls: Counter[tuple[str, str]] = field(default_factory=Counter)
    hits: Counter[tuple[str, str, str]] = field(default_factory=Counter)
    stops: Counter[tuple[str, str]] = field(default_factory=Counter)
    ends: Counter[str] = field(default_factory=Counter)
    rows: Counter[str] = field(default_factory=Counter)
    failed: list[tuple[str, tuple[tuple[str, str], ...]]] = field(default_factory=list)

    def add(self, outcome: Outcome) -> None:
        """Count one schedule."""
        faults = outcome.injected.faults or ()
        kinds = {fault.kind for fault in faults}
        self.schedules += 1
        self.clean += not faults
        self.retries += outcome.retries
        self.refused += outcome.refused
        self.hours += outcome.seconds / 3600
        self.faults.update(fault.kind for fault in faults)
        self.schedules_with.update(kinds)
        for name in ("outcomes", "calls", "hits", "stops", "ends", "rows"):
            getattr(self, name).update(getattr(outcome, name))
        if outcome.violations:
            self.violations.update(kinds)
            self.failed.append((str(outcome.injected), outcome.violations))

    def merge(self, other: "Totals") -> None:
        """Count what another process has counted."""
        for one in fields(self):
            mine = getattr(self, one.name)
            if isinstance(mine, Counter):
                mine.update(getattr(other, one.name))
            else:
                setattr(self, one.name, mine + getattr(other, one.name))


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
        f"{totals.schedules:,} schedules ({totals.clean:,} without a fault), {totals.faults.total():,} faults, "
        f"{len(totals.failed)} violations",
        f"{totals.outcomes.total():,} invocations with {len(totals.outcomes)} outcomes, "
        f"{totals.calls.total():,} calls, with faults at {len(calls)} of {len(totals.calls)} kinds",
        f"executions ended from outside at {len({state for state, _ in totals.stops})} states, "
        f"in {len(totals.stops)} ways",
        f"{totals.ends.total():,} imports, {totals.retries:,} of them retries, {totals.refused:,} calls refused; "
        f"ends: {', '.join(f'{count:,} {end}' for end, count in totals.ends.most_common())}",
        f"rows: {', '.join(f'{count:,} {name}' for name, count in totals.rows.most_common())}",
        f"{totals.hours:,.0f} hours of virtual time in {seconds:.0f} s on {processes} processes, "
        f"{totals.schedules / seconds:.0f} schedules a second",
        sep="\n",
    )
