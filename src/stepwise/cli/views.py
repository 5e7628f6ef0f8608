"""The output of the command line: plain tables."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

import rich.text
from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.measure import Measurement
from rich.table import Table

from stepwise.local.drawing import Screen, Text
from stepwise.local.simulators.simulators import SIMULATORS
from stepwise.operations.values import read_time

from . import output

# Border and padding of a column.
_EDGE = 3
_COLOURS = {
    "SUCCEEDED": "green",
    "Captured": "green",
    "Reserved": "green",
    "COMMITTED": "green",
    "FAILED": "red",
    "TIMED_OUT": "red",
    "ABORTED": "red",
    "Pending": "yellow",
    "Refunded": "yellow",
    "Released": "yellow",
    "COMPENSATED": "yellow",
    "COMPENSATING": "red",
    "COMPLETED": "green",
    "COMPLETED_WITH_FAILURES": "yellow",
    "UNKNOWN": "yellow",
    "HELD": "red",
}


def console(*, stderr: bool = False) -> Console:
    """Create a console that cuts no word, and prints nothing to standard output with --json."""
    plain = Screen(stderr=stderr, quiet=output.is_json() and not stderr)
    if not plain.is_terminal:
        plain.width = 140
    return plain


class Fitted(Table):
    """A table that cuts no word, because words are copied. Becomes a list of fields if the terminal is too narrow."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        measured = [
            [Measurement.get(console, options, cell) for cell in (column.header, *column.cells)]
            for column in self.columns
        ]
        least, most = ([max(getattr(one, end) for one in cells) for cells in measured] for end in Measurement._fields)
        room = options.max_width - 1 - sum(least) - _EDGE * len(least)
        if room < 0:
            yield from self._fields()
            return
        for column, low, high in zip(self.columns, least, most, strict=True):
            column.width = low + min(room, high - low)
            room -= column.width - low
        yield from super().__rich_console__(console, options)

    def _fields(self) -> Iterator[RenderableType]:
        yield Text(str(self.title), style="bold")
        for cells in zip(*(list(column.cells) for column in self.columns), strict=True):
            for column, cell in zip(self.columns, cells, strict=True):
                yield Text(f"{column.header}: ").append_text(
                    cell if isinstance(cell, rich.text.Text) else Text(str(cell))
                )
            yield Text()


def records(title: str, columns: Sequence[str], found: Sequence[Mapping[str, Any]]) -> Table:
    """Build a table of these fields of records."""
    names = [column.replace("_", " ") for column in columns]
    return table(title, names, [[cell(record.get(column)) for column in columns] for record in found])


def cell(value: Any) -> Text:
    """Format a field of a record as text; a status in its color."""
    if isinstance(value, datetime):
        return Text(moment(value))
    if isinstance(value, list | tuple):
        return Text(", ".join(map(str, value)))
    if isinstance(value, dict):
        return Text(", ".join(f"{name} {one}" for name, one in value.items()))
    return status(value) if isinstance(value, str) else Text("" if value is None else str(value))


def moment(at: datetime | str | None) -> str:
    """Format a time in the time zone of this machine, to the millisecond; other text is returned unchanged."""
    found = read_time(at)
    if not isinstance(found, datetime):
        return found or "-"
    local = found.astimezone()
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03} {local:%Z}"


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[RenderableType]]) -> Table:
    drawn = Fitted(title=title, title_justify="left", title_style="bold")
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    return drawn


def copyable(drawn: Table) -> Table:
    """Keep the table's first column on one line, because it is copied into the next command."""
    drawn.columns[0].no_wrap = True
    return drawn


def status(word: object) -> Text:
    """Color a status."""
    text = str(word or "-")
    return Text(text, style=_COLOURS.get(text, ""))


def stock(records: Sequence[Mapping[str, Any]]) -> Table:
    """Show the number of rows only if a SKU has several."""
    columns = ["SKU", "on hand", *(["rows"] if any(record["shards"] > 1 for record in records) else [])]
    cells = [[str(record[name]) for name in ("sku", "on_hand", "shards")] for record in records]
    return table("Stock", columns, [row[: len(columns)] for row in cells])


def simulators(endpoints: Mapping[str, str]) -> Table:
    """List the simulators, with the variable or template parameter of each."""
    rows = [[one.name, endpoints.get(one.name, "-"), one.variable or one.parameter] for one in SIMULATORS]
    return table("Simulators", ["name", "endpoint", "variable or parameter"], rows)
