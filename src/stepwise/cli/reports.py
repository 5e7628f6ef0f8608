"""`stepwise reports`: orders and revenue of a day."""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.table import Table

from stepwise.operations import money, report

from . import checks, output, views
from .options import chosen_stack

app = typer.Typer(help="Orders and revenue of a day.", no_args_is_help=True)


@app.command("show")
def show_report(
    day: Annotated[
        str,
        typer.Option("--date", callback=checks.day, help="Day of the orders' creation, YYYY-MM-DD. Default: today."),
    ] = "",
) -> None:
    """Show orders and revenue of a day, by status and currency."""
    day = day or datetime.now(UTC).date().isoformat()
    lines = report.lines(chosen_stack(), day)
    output.show(
        {"date": day, "lines": [line._asdict() | {"revenue": line.revenue} for line in lines]}, _table(day, lines)
    )


def _table(day: str, lines: Sequence[report.Line]) -> Table:
    """Build a table of orders and revenue of a day, by status and currency."""
    rows = [
        [line.status, str(line.orders), *(money.shown(amount, line.currency) for amount in (line.amount, line.revenue))]
        for line in lines
    ]
    return views.table(f"Orders of {day} (UTC)", ["status", "orders", "amount", "revenue"], rows)
