"""Orders and revenue of a day."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from datetime import UTC, date, datetime, timedelta
from typing import Any

from stepwise.operations import report
from stepwise.operations.money import shown
from stepwise.operations.report import Line

from .filters import InvalidFilter
from .pages import Page, Visit


def view(visit: Visit) -> Mapping[str, Any]:
    """Return the lines of a day, and their sums by currency."""
    today = datetime.now(UTC).date()
    day = _day(visit.asked("date")) or today
    found = report.lines(visit.stack, day.isoformat())
    return {
        "day": day.isoformat(),
        "before": (day - timedelta(days=1)).isoformat() if day > date.min else "",
        "after": (day + timedelta(days=1)).isoformat() if day < today else "",
        "lines": found,
        "sums": sums(found),
        "shown": shown,
    }


def sums(lines: Iterable[Line]) -> list[Line]:
    """Return one line per currency, over all statuses: `amount` is the revenue."""
    by_currency: defaultdict[str, list[int]] = defaultdict(lambda: [0, 0])
    for line in lines:
        of_currency = by_currency[line.currency]
        of_currency[0] += line.orders
        of_currency[1] += line.revenue
    return [Line("", currency, *counts) for currency, counts in sorted(by_currency.items())]


def _day(text: str) -> date | None:
    try:
        return date.fromisoformat(text) if text else None
    except ValueError:
        raise InvalidFilter(f"date: {text!r} is not YYYY-MM-DD") from None


PAGES = (Page("/reports", "reports.html", view, title="Reports", needs=("ReportsTable",), live=True),)
