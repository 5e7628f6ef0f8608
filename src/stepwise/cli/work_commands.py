"""`stepwise work`: look up work under leases, and decide what only a person can."""

from collections.abc import Iterable
from typing import Annotated, Any

import typer
from rich.console import RenderableType
from rich.table import Table

from idempotency import LeaseRecord, Status
from stepwise.operations import work

from . import checks, hints, output, shapes, views
from .options import chosen_stack

app = typer.Typer(help="Work under leases: list it, look it up, release or resolve it.", no_args_is_help=True)

Key = Annotated[
    str, typer.Argument(metavar="ID", callback=checks.business_id, help="The business id: a JobId, an order_id.")
]
Name = Annotated[str, typer.Argument(metavar="WORK", help=f"The kind of work: {', '.join(work.NAMES)}.")]
Reason = Annotated[
    str, typer.Option(callback=checks.reason, help="Why; kept on the record, with your ARN and the time.")
]
Yes = Annotated[bool, typer.Option("--yes", help="Do not ask about work that is COMPLETED.")]


@app.command("list")
def list_work(
    status: Annotated[list[Status] | None, typer.Option(help="Only this status; may be repeated.")] = None,
) -> None:
    """List work that is in progress, unknown, held or failed, oldest first. Leaves out work that needs no operator."""
    records = work.listed(chosen_stack())
    _show(sorted((one for one in records if not status or one.status in status), key=lambda one: one.updated_at))


@app.command()
def show(key: Key) -> None:
    """Show all records of a business id, and what operators decided."""
    stack = chosen_stack()
    records = work.operations(stack).find(key, work.NAMES)
    if not records:
        raise work.WorkNotFound(f"{key} has no record of any work ({', '.join(work.NAMES)})")
    _show(records)
    if any(record.audit for record in records):
        views.console().print(decisions(records))
    for record in records:
        if work.is_undecided(stack, record):
            _say_how_to_decide(key, record.key.rpartition("#")[2])


def _say_how_to_decide(key: str, what: str) -> None:
    output.say(f"Find out whether {what} took effect. If not, the next call runs it again after")
    output.say(hints.command("work", "release", key, what, ("--reason", "WHY")))
    output.say("If it did, record its result, or with --error its final error:")
    output.say(hints.command("work", "resolve", key, what, ("--reason", "WHY"), ("--result", "JSON")))


@app.command()
def release(
    key: Key,
    what: Name,
    reason: Reason,
    yes: Yes = False,
) -> None:
    """Release a key: the next call does the work, regardless of earlier attempts. Asks if it is COMPLETED."""
    stack = chosen_stack()
    record = work.record(stack, key, what)
    _ask(record, "Do it a second time?", yes=yes)
    work.operations(stack).release(record, by=work.caller(stack), reason=reason)
    _show([work.record(stack, key, what)])


@app.command()
def resolve(
    key: Key,
    what: Name,
    reason: Reason,
    result: Annotated[str | None, typer.Option(help="The work succeeded with this result, as JSON.")] = None,
    error: Annotated[
        str | None,
        typer.Option(metavar="NAME:MESSAGE", callback=checks.final_error, help="The work ended with this final error."),
    ] = None,
    yes: Yes = False,
) -> None:
    """Record the outcome of a piece of work; duplicates get it from now on. Asks if it is COMPLETED."""
    if (result is None) == (error is None):
        raise typer.BadParameter("pass either --result or --error", param_hint="resolve")
    value = None if result is None else _json(result)
    stack = chosen_stack()
    record, by = work.record(stack, key, what), work.caller(stack)
    _ask(record, "Replace its result?", yes=yes)
    if error is None:
        work.operations(stack).complete(record, value, by=by, reason=reason)
    else:
        kind, _, message = error.partition(":")
        work.operations(stack).fail(record, kind, message.strip(), by=by, reason=reason)
    _show([work.record(stack, key, what)])


def _ask(record: LeaseRecord, question: str, *, yes: bool) -> None:
    if record.status is Status.COMPLETED and not yes:
        typer.confirm(f"{record.key} is COMPLETED with {record.result or 'no result'}. {question}", abort=True)


def _show(records: Iterable[LeaseRecord]) -> None:
    found = list(records)
    output.show({"work": [shapes.work(one) for one in found]}, work_table(found))


def _json(text: str) -> Any:
    try:
        return work.parse_result(text)
    except work.InvalidOutcome as error:
        raise typer.BadParameter(str(error), param_hint="--result") from None


def work_table(records: Iterable[LeaseRecord]) -> Table:
    """Build a table of work, with its state."""
    rows: list[list[RenderableType]] = [
        [record.key, views.status(record.status), str(record.attempt), record.updated_at, work.known(record)]
        for record in records
    ]
    return views.table("Work", ["key", "status", "attempt", "written at", "what is known"], rows)


def decisions(records: Iterable[LeaseRecord]) -> Table:
    """Build a table of operators' decisions, oldest first."""
    entries = [(record.key, entry) for record in records for entry in record.audit]
    rows = [
        [entry["at"], key, f"{entry['from']} -> {entry['to']}", entry["was"], entry["by"], entry["reason"]]
        for key, entry in sorted(entries, key=lambda pair: pair[1]["at"])
    ]
    return views.table("Decisions", ["at", "key", "what", "was", "by", "reason"], rows)
