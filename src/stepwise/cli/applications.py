"""`stepwise applications`: submit, list, show, recover; barred names and limits of the checks."""

from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer
from rich.table import Table

from accounts import definition
from accounts.requests import parse_submit
from accounts.screening import DEFAULTS, MAX_LIMIT
from stepwise.operations import applications, screening
from stepwise.operations.applications import Summary
from stepwise.operations.rewriting import Rewriting
from stepwise.operations.screening import Screening

from . import checks, hints, order_views, output, shapes, views, waiting
from .checks import read_json
from .options import Last, chosen_stack
from .waiting import interrupted

app = typer.Typer(help="Applications for accounts, and what their checks go by.", no_args_is_help=True)
barred_app = typer.Typer(help="Names that the check for fraud flags.", no_args_is_help=True)
limits_app = typer.Typer(help="Limits of the check for fraud.", no_args_is_help=True)
app.add_typer(barred_app, name="barred")
app.add_typer(limits_app, name="limits")


class Status(StrEnum):
    submitted = definition.SUBMITTED
    in_review = definition.IN_REVIEW
    approved = definition.APPROVED
    rejected = definition.REJECTED
    failed = definition.FAILED


ApplicationId = Annotated[
    str, typer.Argument(metavar="APPLICATION", help="The application_id.", callback=checks.business_id)
]
Name = Annotated[
    str,
    typer.Argument(metavar="NAME", help="In any case, spelling and order of words.", callback=checks.line),
]


@app.command()
def submit(
    file: Annotated[Path, typer.Argument(help="The application as JSON; - reads standard input.")],
    document: Annotated[
        Path | None, typer.Option(help="Upload this PDF, JPEG or PNG first.", exists=True, dir_okay=False)
    ] = None,
) -> None:
    """Submit an application. A repeated call changes nothing."""
    content = read_json(file, "FILE")
    parse_submit(content)
    answer = applications.submit(chosen_stack(), content, document)
    own = answer["application_id"]
    output.show({"application_id": own, "status": answer["status"]})
    output.say(f"Application {own}: {answer['status']}. Look at it with {hints.command('applications', 'show', own)}")


@app.command()
def show(application_id: ApplicationId) -> None:
    """Show what came of an application: its status, its flags, the reason of its end. Not who applies."""
    found = applications.view(chosen_stack(), application_id)
    output.show(shapes.application(found), _details(found))
    for line in _next_steps(found):
        output.say(line)


@app.command("list")
def list_applications(
    status: Annotated[Status | None, typer.Option(help="Of these only.")] = None,
    last: Last = 20,
) -> None:
    """List applications, the newest first. It reads the whole table."""
    found = applications.listed(chosen_stack(), status or "", last)
    columns = ["application_id", "status", "flags", "reason", "submitted_at"]
    output.listing("Applications", "applications", [shapes.application(one) for one in found], columns)


@app.command()
def recover(application_id: ApplicationId) -> None:
    """Undo what a failed account-setup left, and follow the recovery to its end. Exits with 1 if something is left."""
    stack = chosen_stack()
    started = applications.recover(stack, application_id)
    back = hints.command("applications", "show", application_id)
    with interrupted(f"The recovery continues. Come back with {back}"), waiting.waiting(f"recovering {application_id}"):
        last, found = applications.recovered(stack, application_id, started)
    document = {"application": shapes.application(found), "recovery": shapes.execution(last)}
    output.show(document, order_views.states(last, "States of the recovery"), _details(found))
    raise typer.Exit(0 if last.status == "SUCCEEDED" else 1)


@app.command("rewrite-keys")
def rewrite_keys() -> None:
    """Rewrite keys of customers, barred names and addresses that an earlier release wrote. Safe to repeat."""
    found = Rewriting.of(chosen_stack()).run()
    twice = [{"application_id": first, "same_person_as": other} for other, first in found.twice]
    columns = ["rows", "rewritten", "removed", "left"]
    output.show({"keys": found.rows, "twice": twice}, views.records("Keys", columns, found.rows))
    for pair in twice:
        output.say(f"{pair['application_id']} and {pair['same_person_as']} are one person with two accounts.")


@barred_app.command("add")
def add_barred(barred: Name) -> None:
    """Bar a name, for checks from now on."""
    added = screening.bar(chosen_stack(), barred)
    output.show({"barred": True})
    output.say(f"Barred: {added}")


@barred_app.command("remove")
def remove_barred(barred: Name) -> None:
    """Take a name from the list."""
    removed = Screening.of(chosen_stack()).unbar(barred)
    output.show({"barred": False})
    output.say(f"No longer barred: {removed}")


@barred_app.command("list")
def list_barred() -> None:
    """List the barred names, in their normal form. With --json, without the names."""
    found = list(Screening.of(chosen_stack()).barred())
    rows = [[views.cell(one.name), views.cell(one.added_at[:16]), views.cell(one.added_by)] for one in found]
    drawn = views.table("Barred names", ["name", "added at", "added by"], rows)
    output.show({"barred": [shapes.barred(one) for one in found]}, drawn)


@limits_app.command("show")
def show_limits() -> None:
    """Show the limits of the checks."""
    found = Screening.of(chosen_stack()).table.limits()
    records = [_limit(limit, value) for limit, value in found.items()]
    output.listing("Limits", "limits", records, ["limit", "value", "default"])


@limits_app.command("set")
def set_limit(
    limit: Annotated[str, typer.Argument(metavar="LIMIT", help=f"One of {', '.join(DEFAULTS)}.")],
    value: Annotated[int, typer.Argument(metavar="VALUE", min=1, max=MAX_LIMIT)],
) -> None:
    """Set a limit, for checks from now on."""
    Screening.of(chosen_stack()).set_limit(limit, value)
    output.show(_limit(limit, value))
    output.say(f"{limit} is {value}.")


def _details(found: Summary) -> Table:
    shown = {name: value for name, value in shapes.application(found).items() if value}
    del shown["application_id"]
    rows = [[views.cell(name), views.cell(value)] for name, value in shown.items()]
    return views.table(found.application_id, ["what", "value"], rows)


def _next_steps(found: Summary) -> Iterable[str]:
    if found.status == definition.IN_REVIEW:
        yield f"It waits for a review: {hints.command('approvals', 'list', ('--group', 'account-opening'))}"
    if found.standing:
        undo = hints.command("applications", "recover", found.application_id)
        yield f"Not undone: {', '.join(found.standing)}. Undo it with {undo}"


def _limit(limit: str, value: int) -> dict[str, str | int]:
    return {"limit": limit, "value": value, "default": DEFAULTS[limit]}
