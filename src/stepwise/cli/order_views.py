"""The output of `stepwise place`, `show` and `recover`."""

from collections.abc import Callable, Iterable, Mapping
from contextlib import nullcontext

from rich.console import Group, RenderableType
from rich.live import Live
from rich.table import Table

from ordering.definition import ORDER_SAGA
from stepwise.local.drawing import Text
from stepwise.operations import money
from stepwise.operations.executions import RUNNING, Execution, StateVisit
from stepwise.operations.orders import OrderView
from stepwise.operations.stack import Row

from . import hints
from .views import console, moment, status, table

_STEPS = set(ORDER_SAGA.step_names)
_COMPENSATIONS = {step.compensation for step in ORDER_SAGA.all_steps}


def order(view: OrderView) -> Group:
    """Show everything about one order: its rows, saga and recoveries, each with its path and its cause."""
    rows: list[list[RenderableType]] = [["saga", *_run(view.execution, view.order_id)]]
    rows += [[_which(number), *_run(one, view.order_id)] for number, one in enumerate(view.recoveries, 1)]
    rows += [
        [what, status(_of(row)), _details(told, row)]
        for what, row, told in (
            ("order", view.order, _order_row),
            ("payment", view.payment, _payment_row),
            ("reservation", view.reservation, _reservation_row),
        )
    ]
    if view.charge:
        rows.append(["charge", status(view.charge.get("status")), _details(_charge_row, view.charge)])
    parts: list[RenderableType] = [table(f"Order {view.order_id}", ["what", "status", "details"], rows)]
    parts += [Text(f"{title}: ").append_text(path(one)) for title, one in _titled(view)]
    parts.append(_steps(view))
    parts += [states(one, f"States of {title}") for title, one in _titled(view)]
    return Group(*parts, *_next(view))


def watch(views: Iterable[OrderView]) -> OrderView:
    """Show an order's progress: in place on a terminal, otherwise a line per change, and everything at the end.

    Returns the last view.
    """
    out, told = console(), ""
    with Live(console=out, auto_refresh=False) if out.is_terminal else nullcontext() as live:
        for seen in views:
            if live:
                live.update(order(seen), refresh=True)
            elif told != (told := "; ".join(path(one).plain for one in _executions(seen))):
                out.print(told)
    if not out.is_terminal:
        out.print(order(seen))
    return seen


def path(execution: Execution) -> Text:
    """Show the states in one line: `✓ ProcessOrder ✗ ProcessPayment GatewayUnavailable x7 ↩ UpdateOrderStatus`."""
    marks = [mark for visit in execution.states if (mark := _mark(visit, execution))]
    shown = Text("" if marks else "no state yet")
    for number, mark in enumerate(marks):
        shown.append(" " if number else "").append_text(mark)
    return shown


def states(execution: Execution, title: str = "States") -> Table:
    """Show the states that an execution went through, each with its errors and the last message."""
    rows: list[list[RenderableType]] = [
        [
            visit.name,
            moment(visit.entered),
            f"{visit.milliseconds:,} ms",
            str(max(visit.attempts - 1, 0)) if visit.attempts else "",
            Text(str(visit.cause) if visit.cause else "", style="red" if visit.failed else ""),
        ]
        for visit in execution.states
    ]
    return table(title, ["state", "entered", "took", "retries", "errors"], rows)


def outcome(execution: Execution | None) -> Text:
    """Show an execution's status and its error."""
    if execution is None:
        return Text("no execution")
    text, why = status(execution.status), execution.why
    return text.append(f" {why.name}", style="red") if why else text


def summary(views: Mapping[str, OrderView], notes: Mapping[str, str] | None = None) -> Table:
    """Build a table with one titled line per order."""
    columns = ["what", "order_id", "saga", "order", "payment", "reservation", "why"]
    rows: list[list[RenderableType]] = [
        [
            title,
            view.order_id,
            outcome(view.execution),
            status(_of(view.order)),
            status(_of(view.payment)),
            status(_of(view.reservation)),
            (notes or {}).get(title) or _why(view.execution),
        ]
        for title, view in views.items()
    ]
    return table("Orders", columns, rows)


def _of(row: Row | None) -> object:
    return row.get("status") if row else None


def _why(execution: Execution | None) -> str:
    """Return the sentence of an execution's first error."""
    return execution.why.message if execution and execution.why else ""


def _run(execution: Execution | None, order_id: str) -> list[RenderableType]:
    """Show status, times, attempts and cause."""
    if execution is None:
        return [Text("no execution"), ""]
    name = "" if execution.name == order_id else f"{execution.name}; "
    since = f"{name}since {moment(execution.started)}"
    seconds = (execution.ended - execution.started).total_seconds() if execution.ended and execution.started else None
    took = f", took {seconds:,.3f} s" if seconds is not None else ", still running"
    attempts = sum(visit.attempts for visit in execution.states)
    why = execution.last
    details = Text(f"{since}{took}, {attempts} attempts of {len(execution.states)} states")
    return [outcome(execution), details.append(f"\n{why}", style="red") if why else details]


def _which(number: int) -> str:
    return "recovery" if number == 1 else f"recovery {number}"


def _executions(view: OrderView) -> list[Execution]:
    return [one for _, one in _titled(view)]


def _titled(view: OrderView) -> list[tuple[str, Execution]]:
    named = [(_which(number), one) for number, one in enumerate(view.recoveries, 1)]
    return [("saga", view.execution), *named] if view.execution else named


def _mark(visit: StateVisit, execution: Execution) -> Text | None:
    retried = f" ({visit.cause.name})" if visit.cause else ""
    if visit.failed or (not visit.ended and execution.status != RUNNING and visit.name in _STEPS | _COMPENSATIONS):
        why = visit.cause.name if visit.cause else execution.status
        running = execution.status == RUNNING and not visit.ended
        return Text(f"{'…' if running else '✗'} {visit.name} {why}", style="yellow" if running else "red")
    if not visit.ended and execution.status == RUNNING:
        return Text(f"… {visit.name}", style="yellow")
    if visit.name in _STEPS:
        return Text(f"✓ {visit.name}{retried}", style="green")
    return Text(f"↩ {visit.name}{retried}", style="yellow") if visit.name in _COMPENSATIONS else None


def _next(view: OrderView) -> list[Text]:
    """Say what to do, if something is left to undo and nothing is at work on it."""
    if not (view.order and view.order.get("standing")) or any(one.status == RUNNING for one in _executions(view)):
        return []
    left = ", ".join(ORDER_SAGA.named(view.order["standing"]))
    return [Text(f"Not undone: {left}. Undo it with {hints.command('recover', view.order_id)}", style="red")]


def _steps(view: OrderView) -> Table:
    rows = [_step(name, record) for name, record in view.steps.items()]
    return table("Step records", ["step", "status", "result", "written at"], rows)


def _step(name: str, record: Row | None) -> list[RenderableType]:
    if record is None:
        return [name, status(None), "", ""]
    return [
        name,
        status(record.get("status")),
        Text(str(record.get("result", ""))),
        moment(str(record.get("updated_at", "-"))),
    ]


def _details(told: Callable[[Row], str], row: Row | None) -> Text:
    """Show the content of a row. Somebody may have written it by hand, so any field may be missing."""
    if row is None:
        return Text("")
    try:
        return Text(told(row))
    except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        return Text(f"malformed row ({type(error).__name__}: {error}): {', '.join(sorted(row))}", style="red")


def _order_row(row: Row) -> str:
    total = money.shown(row["total"], row["currency"])
    return f"{_lines(row)}; total {total}; created {moment(row['created_at'])}"


def _payment_row(row: Row) -> str:
    return f"{money.shown(row['amount'], row['currency'])}; payment_id {row['payment_id']}"


def _reservation_row(row: Row) -> str:
    return _lines(row)


def _lines(row: Row) -> str:
    return ", ".join(f"{item['quantity']} x {item['sku']}" for item in row["items"])


def _charge_row(row: Row) -> str:
    error = row.get("error")
    what = f"{error['name']}: {error['message']}" if error else str(row.get("result") or "")
    return f"attempt {row['attempt']}, {moment(row['updated_at'])}{f'; {what}' if what else ''}"
