"""What the rows of an order say, in a line each."""

from collections.abc import Callable
from datetime import datetime

from stepwise.local.drawing import Text
from stepwise.operations import money
from stepwise.operations.stack import Row
from stepwise.operations.values import read_time


def moment(at: datetime | str | None) -> str:
    """A time in the time zone of this machine, to the millisecond; a text that is no time, unchanged."""
    found = read_time(at)
    if not isinstance(found, datetime):
        return found or "-"
    local = found.astimezone()
    return f"{local:%Y-%m-%d %H:%M:%S}.{local.microsecond // 1000:03} {local:%Z}"


def details(told: Callable[[Row], str], row: Row | None) -> Text:
    """What a row says. Somebody may have written it by hand, so it may lack anything."""
    if row is None:
        return Text("")
    try:
        return Text(told(row))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        return Text(f"malformed row ({type(error).__name__}: {error}): {', '.join(sorted(row))}", style="red")


def order(row: Row) -> str:
    total = money.shown(row["total"], row["currency"])
    return f"{_lines(row)}; total {total}; created {moment(row['created_at'])}"


def payment(row: Row) -> str:
    return f"{money.shown(row['amount'], row['currency'])}; payment_id {row['payment_id']}"


def reservation(row: Row) -> str:
    return _lines(row)


def _lines(row: Row) -> str:
    return ", ".join(f"{item['quantity']} x {item['sku']}" for item in row["items"])


def charge(row: Row) -> str:
    error = row.get("error")
    what = f"{error['name']}: {error['message']}" if error else str(row.get("result") or "")
    return f"attempt {row['attempt']}, {moment(row['updated_at'])}{f'; {what}' if what else ''}"
