"""`stepwise approvals`: list, show, approve, reject."""

import getpass
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Annotated

import typer
from rich.console import RenderableType
from rich.table import Table

from approvals.state import Approval, Status
from stepwise.local.drawing import Text
from stepwise.operations import approvals
from stepwise.operations.stack import Stack

from . import checks, hints, output, shapes, views
from .options import chosen_stack

app = typer.Typer(help="Approvals: states of machines that wait until a person decides.", no_args_is_help=True)

ApprovalId = Annotated[
    str, typer.Argument(metavar="APPROVAL", help="The approval_id, as 'list' shows it.", callback=checks.business_id)
]
Comment = Annotated[
    str | None, typer.Option(help="Why. It stays in the record. Without it, a terminal is asked for one.")
]
By = Annotated[str, typer.Option(help="Who decides. Default: the user's name.")]

_DETAILS = (
    "subject",
    "group",
    "requested_by",
    "requested_at",
    "due_at",
    "decided_by",
    "decided_at",
    "cancelled_at",
    "comment",
    "execution_arn",
)


@app.command("list")
def list_approvals(
    group: Annotated[str, typer.Option(help="Of this group only.")] = "",
) -> None:
    """List what waits for a decision; what is due first comes first."""
    found = approvals.waiting(chosen_stack(), group)
    columns = ["approval", "subject", "group", "requested by", "due at"]
    drawn = views.copyable(views.table("Approvals that wait", columns, [_line(one) for one in found]))
    output.show({"approvals": [shapes.approval(one) for one in found]}, drawn)


@app.command()
def show(approval_id: ApprovalId) -> None:
    """Show an approval: its subject, who decided, and whether the execution continued."""
    found = approvals.view(chosen_stack(), approval_id)
    output.show(shapes.approval(found), _details(found))
    if found.status is Status.WAITING and found.due_at < datetime.now(UTC):
        output.say("Overdue: it can no longer be decided. SweepApprovals expires it; docs/alarms.md says how to help.")
    elif found.status is Status.WAITING:
        for way in ("approve", "reject"):
            output.say(hints.command("approvals", way, approval_id))


def _deciding(decision: str) -> Callable[..., None]:
    """Return the command that makes this decision."""

    def decide(
        approval_id: ApprovalId,
        comment: Comment = None,
        by: By = "",
    ) -> None:
        _decide(chosen_stack(), approval_id, decision, comment, by)

    return decide


_ONCE = "An approval is decided once: the same decision again changes nothing, the other one is refused."
app.command("approve", help=f"Approve. {_ONCE}")(_deciding("approve"))
app.command("reject", help=f"Reject. {_ONCE}")(_deciding("reject"))


def _decide(stack: Stack, approval_id: str, decision: str, comment: str | None, by: str) -> None:
    approvals.view(stack, approval_id)
    if comment is None:
        asked = sys.stdin.isatty()
        comment = typer.prompt("Why (may be empty)", default="", show_default=False, err=True) if asked else ""
    decided = approvals.decide(stack, approval_id, decision, by or getpass.getuser(), comment)
    output.show(shapes.approval(decided), _details(decided))


def _line(approval: Approval) -> list[RenderableType]:
    values = approval.values
    texts = (Text(str(values[name])) for name in ("subject", "group", "requested_by"))
    return [Text(approval.id), *texts, str(values["due_at"])[:16]]


def _details(approval: Approval) -> Table:
    rows: list[list[RenderableType]] = [["status", views.status(approval.status)]]
    rows += [[name, Text(str(approval.values[name]))] for name in _DETAILS if name in approval.values]
    if approval.status not in (Status.WAITING, Status.CANCELLED):
        known = {True: "yes", False: "no: the execution had ended", None: "not known yet"}
        rows.append(["took effect", known[approval.took_effect]])
    return views.table(approval.id, ["what", "value"], rows)
