"""A table of tried scenarios: fault kind x step, scenarios, violations."""

from collections import Counter, defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from rich.console import Console
from rich.table import Table

from tests.faults.edges import KINDS as EDGES
from tests.faults.faults import KINDS, Fault
from tests.faults.subject import SUBJECT
from tests.faults.workers import Result

_COLUMNS = (
    *SUBJECT.saga.step_names,
    *SUBJECT.saga.compensations,
    "notices",
    "recovery",
    *SUBJECT.outside_a_machine,
    "status event",
    SUBJECT.saga.machine,
    "second",
    "stray",
)


@dataclass
class Report:
    """A report. replay: the command that replays a scenario, without the scenario.

    counts: scenarios by kind and step of their faults; a pair counts twice. Faults at the edges without a step are only
    in the sums.
    """

    replay: str
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    scenarios: Counter[str] = field(default_factory=Counter)
    violations: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    injected: int = 0
    failed: list[Result] = field(default_factory=list)
    tried: Counter[str] = field(default_factory=Counter)

    def add(self, kind: str, results: Iterable[Result]) -> None:
        """Count results. kind: singles, pairs or sequences."""
        for result in results:
            self.tried[kind] += 1
            self.injected += result.injected
            for fault in result.scenario.faults:
                self.counts[fault.kind, _column(fault)] += 1
            for name in {fault.kind for fault in result.scenario.faults}:
                self.scenarios[name] += 1
                self.violations[name] += bool(result.violations)
                self.seconds[name] += result.seconds
            if result.violations:
                self.failed.append(result)

    def print(self, seconds: float, processes: int) -> None:
        """Print the table, every violation with the command that replays it, and the totals."""
        console = Console(width=200)
        console.print(self._table())
        for result in self.failed:
            console.print(f"[red]VIOLATION[/] {self.replay} SCENARIO='{result.scenario}'", soft_wrap=True)
            for violation in result.violations:
                console.print(f"    {violation}", soft_wrap=True, markup=False)
        total = sum(self.tried.values())
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in self.tried.items())
        console.print(
            f"{total:,} scenarios ({kinds}), {self.injected:,} faults injected, {len(self.failed)} violations"
        )
        console.print(f"{seconds:.0f} s on {processes} processes, {total / seconds:.0f} scenarios a second")

    def _table(self) -> Table:
        table = Table("fault", *(_narrow(column) for column in _COLUMNS), "scenarios", "violations", "seconds")
        for column in table.columns[1:]:
            column.justify = "right"
        for kind in (*KINDS, *EDGES):
            cells = [self.counts[kind, column] for column in _COLUMNS]
            placed = [f"{count:,}" if count else "" for count in [*cells, self.scenarios[kind]]]
            table.add_row(kind, *placed, str(self.violations[kind]), f"{self.seconds[kind]:,.1f}")
        return table


def _narrow(name: str) -> str:
    """Split a CamelCase name into two lines."""
    return "\n".join("".join(f" {letter}" if letter.isupper() else letter for letter in name).split())


def _column(fault: Fault) -> str:
    prefix, _, step = fault.step.rpartition(".")
    if prefix:
        return {"recovery": "recovery", "second": "second", "stray": "stray"}.get(prefix, "")
    return "notices" if step.startswith("sns:") else step
