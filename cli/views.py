"""The output of the command line: plain tables."""

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Console, Group, RenderableType
from rich.table import Table
from rich.text import Text

from idempotency import LeaseRecord, Status
from local.simulators.simulators import SIMULATORS
from operations.causes import message_of
from operations.orders import Execution, OrderView
from operations.recovery import Attention
from operations.report import Line
from operations.stack import Row

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
    """A console that does not cut tables when there is no terminal."""
    plain = Console(stderr=stderr, highlight=False)
    return plain if plain.is_terminal else Console(stderr=stderr, highlight=False, width=140)


def table(title: str, columns: Sequence[str], rows: Sequence[Sequence[RenderableType]]) -> Table:
    drawn = Table(title=title, title_justify="left", title_style="bold")
    for column in columns:
        drawn.add_column(column, overflow="fold")
    for row in rows:
        drawn.add_row(*row)
    return drawn


def status(word: object) -> Text:
    """A status in its color."""
    text = str(word or "-")
    return Text(text, style=_COLOURS.get(text, ""))


def outcome(execution: Execution | None) -> Text:
    """An execution's status, with its first error."""
    if execution is None:
        return Text("no execution")
    text = status(execution.status)
    return text.append(f" {execution.error}", style="red") if execution.error else text


def reason(execution: Execution | None) -> str:
    """The message of an execution's first error."""
    return message_of(execution.cause or "") if execution else ""


def summary(views: Mapping[str, OrderView], notes: Mapping[str, str] | None = None) -> Table:
    """One line per order, each with a title."""
    columns = ["what", "order_id", "saga", "order", "payment", "reservation", "why"]
    rows: list[list[RenderableType]] = [
        [
            title,
            view.order_id,
            outcome(view.execution),
            status(_of(view.order)),
            status(_of(view.payment)),
            status(_of(view.reservation)),
            (notes or {}).get(title) or reason(view.execution),
        ]
        for title, view in views.items()
    ]
    return table("Orders", columns, rows)


def order(view: OrderView) -> Group:
    """Everything about one order."""
    lines = [
        ("order", view.order, _order_details),
        ("payment", view.payment, _payment_details),
        ("reservation", view.reservation, _reservation_details),
    ]
    rows: list[list[RenderableType]] = [["saga", outcome(view.execution), reason(view.execution)]]
    rows.extend([what, status(_of(row)), details(row) if row else ""] for what, row, details in lines)
    known = table(f"Order {view.order_id}", ["what", "status", "details"], rows)
    parts = [known, _steps(view)]
    return Group(*parts, states(view.execution)) if view.execution else Group(*parts)


def states(execution: Execution) -> Table:
    """The states that an execution went through."""
    rows = [
        [
            visit.name,
            f"{visit.milliseconds} ms",
            str(max(visit.attempts - 1, 0)) if visit.attempts else "",
            ", ".join(visit.errors),
        ]
        for visit in execution.states
    ]
    return table("States", ["state", "took", "retries", "errors"], rows)


def attention(orders: Sequence[Attention]) -> Table:
    """Orders that need a person, and what to do."""
    rows: list[list[RenderableType]] = [
        [
            order.saga_id,
            status(order.saga),
            status(order.recovery),
            ", ".join(order.standing),
            f"./stepwise recover {order.saga_id}",
        ]
        for order in orders
    ]
    return table("Orders that need attention", ["order_id", "saga", "recovery", "not undone", "action"], rows)


def stock(pieces: Mapping[str, int]) -> Table:
    return table("Stock", ["SKU", "on hand"], [[sku, str(count)] for sku, count in pieces.items()])


def work(records: Iterable[LeaseRecord]) -> Table:
    """Pieces of work, with their state."""
    rows: list[list[RenderableType]] = [
        [record.key, status(record.status), str(record.attempt), record.updated_at, _what_is_known(record)]
        for record in records
    ]
    return table("Work", ["key", "status", "attempt", "written at", "what is known"], rows)


def audit(records: Iterable[LeaseRecord]) -> Table:
    """What operators decided, oldest first."""
    entries = [(record.key, entry) for record in records for entry in record.audit]
    rows = [
        [entry["at"], key, f"{entry['from']} -> {entry['to']}", entry["was"], entry["by"], entry["reason"]]
        for key, entry in sorted(entries, key=lambda pair: pair[1]["at"])
    ]
    return table("Decisions", ["at", "key", "what", "was", "by", "reason"], rows)


def _what_is_known(record: LeaseRecord) -> str:
    if record.error:
        return ": ".join(record.error)
    if record.status is Status.IN_PROGRESS:
        return f"lease until {record.lease_until.isoformat(timespec='seconds')}"
    return record.result or ""


def simulators(endpoints: Mapping[str, str]) -> Table:
    """The simulators, with the variable or template parameter that leads to each."""
    rows = [[one.name, endpoints.get(one.name, "-"), one.variable or one.parameter] for one in SIMULATORS]
    return table("Simulators", ["name", "endpoint", "variable or parameter"], rows)


def report(day: str, lines: Sequence[Line]) -> Table:
    """Orders and revenue of a day."""
    rows = [[line.status, line.currency, str(line.orders), str(line.revenue)] for line in lines]
    return table(f"Orders of {day}", ["status", "currency", "orders", "revenue (minor unit)"], rows)


def _steps(view: OrderView) -> Table:
    rows = [_step(name, record) for name, record in view.steps.items()]
    return table("Step records", ["step", "status", "result", "written at"], rows)


def _step(name: str, record: Row | None) -> list[RenderableType]:
    if record is None:
        return [name, status(None), "", ""]
    return [name, status(record["status"]), str(record.get("result", "")), str(record["updated_at"])]


def _of(row: Row | None) -> object:
    return row["status"] if row else None


def _order_details(row: Row) -> str:
    lines = ", ".join(f"{item['quantity']} x {item['sku']}" for item in row["items"])
    return f"{lines}; total {row['total']} {row['currency']} (minor unit); created {row['created_at']}"


def _payment_details(row: Row) -> str:
    return f"{row['amount']} {row['currency']} (minor unit); payment_id {row['payment_id']}"


def _reservation_details(row: Row) -> str:
    return ", ".join(f"{item['quantity']} x {item['sku']}" for item in row["items"])
