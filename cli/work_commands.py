"""`stepwise work`: look up work under leases, and decide what only a person can."""

import json
from collections.abc import Iterable
from typing import Annotated, Any

import typer

from idempotency import LeaseRecord, Status
from operations import work
from operations.stack import STACK_NAME

from . import views
from .options import OnAws, Port, StackName, chosen_stack

app = typer.Typer(help="Work under leases: list it, look it up, release or resolve it.", no_args_is_help=True)

Key = Annotated[str, typer.Argument(metavar="ID", help="The business id: a JobId, an order_id.")]
Name = Annotated[str, typer.Argument(metavar="WORK", help=f"The kind of work: {', '.join(work.NAMES)}.")]
Reason = Annotated[str, typer.Option(help="Why; kept on the record, with your ARN and the time.")]


@app.command("list")
def list_work(
    status: Annotated[list[Status] | None, typer.Option(help="Only this status; may be repeated.")] = None,
    port: Port = 4566,
    aws: OnAws = False,
    name: StackName = STACK_NAME,
) -> None:
    """List work that is in progress, unknown, held or failed, oldest first. Leaves out work that needs no operator."""
    records = work.listed(chosen_stack(port, aws, name))
    _show(sorted((one for one in records if not status or one.status in status), key=lambda one: one.updated_at))


@app.command()
def show(key: Key, port: Port = 4566, aws: OnAws = False, name: StackName = STACK_NAME) -> None:
    """Show all records of a business id, and what operators decided."""
    records = work.operations(chosen_stack(port, aws, name)).find(key, work.NAMES)
    if not records:
        raise work.WorkNotFound(f"{key} has no record of any work ({', '.join(work.NAMES)})")
    _show(records)
    if any(record.audit for record in records):
        views.console().print(views.audit(records))


@app.command()
def release(
    key: Key, what: Name, reason: Reason, port: Port = 4566, aws: OnAws = False, name: StackName = STACK_NAME
) -> None:
    """Release a key: the next call does the work, regardless of earlier attempts."""
    stack = chosen_stack(port, aws, name)
    record = work.record(stack, key, what)
    work.operations(stack).release(record, by=work.caller(stack), reason=reason)
    _show([work.record(stack, key, what)])


@app.command()
def resolve(
    key: Key,
    what: Name,
    reason: Reason,
    result: Annotated[str | None, typer.Option(help="The work succeeded with this result, as JSON.")] = None,
    error: Annotated[
        str | None, typer.Option(metavar="NAME:MESSAGE", help="The work ended with this final error.")
    ] = None,
    port: Port = 4566,
    aws: OnAws = False,
    name: StackName = STACK_NAME,
) -> None:
    """Record the outcome of a piece of work; duplicates get it from now on."""
    if (result is None) == (error is None):
        raise typer.BadParameter("pass either --result or --error", param_hint="resolve")
    stack = chosen_stack(port, aws, name)
    record, by = work.record(stack, key, what), work.caller(stack)
    if error is None:
        work.operations(stack).complete(record, _json(result or ""), by=by, reason=reason)
    else:
        kind, _, message = error.partition(":")
        work.operations(stack).fail(record, kind, message.strip(), by=by, reason=reason)
    _show([work.record(stack, key, what)])


def _show(records: Iterable[LeaseRecord]) -> None:
    views.console().print(views.work(records))


def _json(text: str) -> Any:
    try:
        return json.loads(text, parse_constant=_refuse)
    except ValueError as error:
        raise typer.BadParameter(f"not JSON: {error}", param_hint="--result") from None


def _refuse(constant: str) -> None:
    raise ValueError(f"{constant} is Python's, not JSON's")
