"""`stepwise user-imports`: Amazon Connect users from CSV files."""

import json
from dataclasses import asdict
from enum import StrEnum
from typing import Annotated

import typer
from rich.console import RenderableType

from stepwise.operations import runs, user_imports

from . import hints, import_command, output, shapes, views
from .options import Last, Since, check_filters, chosen_stack, moment

app = typer.Typer(help="Imports of Amazon Connect users from CSV files.", no_args_is_help=True)
app.command("create")(import_command.import_users)


class Status(StrEnum):
    RUNNING = "RUNNING"
    SUCCEEDED = "SUCCEEDED"
    FAILED = "FAILED"
    TIMED_OUT = "TIMED_OUT"
    ABORTED = "ABORTED"


@app.command("list")
def list_imports(
    status: Annotated[Status | None, typer.Option(help="Only those with this status.")] = None,
    failed: Annotated[
        bool, typer.Option("--failed", help="Only those that failed, timed out or were stopped.")
    ] = False,
    since: Since = "",
    last: Last = 20,
) -> None:
    """List imports of users, the newest first. Step Functions lists them by status."""
    check_filters(status, failed)
    begin, stack = moment(since), chosen_stack()
    found = (
        runs.failed(stack, user_imports.OUTPUT, begin, last)
        if failed
        else runs.listed(stack, user_imports.OUTPUT, status, begin, last)
    )
    columns = ["name", "status", "started_at", "ended_at", "error", "cause"]
    output.listing("Imports of users", "user_imports", [shapes.run(one) for one in found], columns)


@app.command()
def show(
    import_name: Annotated[str, typer.Argument(metavar="IMPORT", help="As 'list' shows it.")],
) -> None:
    """Show an import of users: its outcome, its rows, and the key of its result."""
    stack = chosen_stack()
    run = runs.find(stack, user_imports.OUTPUT, import_name)
    ended = asdict(user_imports.summary(stack, import_name)) if run.status == Status.SUCCEEDED else None
    record = {**shapes.run(run), "file": user_imports.key_of(run.input)}
    rows: list[list[RenderableType]] = [
        [what, views.cell(value)] for what, value in {**record, **(ended or {})}.items()
    ]
    output.show({**record, "summary": ended}, views.table("Import of users", ["what", "value"], rows))
    if run.status in runs.FAILED:
        request = json.loads(run.input or "{}")
        # Somebody may have started it by hand.
        again = import_command.again("FILE", request if isinstance(request, dict) else {})
        output.say(f"Correct the file, and import it again with {hints.command(*again)}")
