"""`stepwise queues`: how much waits in each queue, and what failed sent through again."""

from typing import Annotated

import typer

from stepwise.operations import queues
from stepwise.operations.queues import QueueView
from stepwise.operations.stack import Stack

from . import hints, output, shapes, views
from .options import chosen_stack

app = typer.Typer(help="Queues and what failed: how much waits, and sending it through again.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="NAME", help="A dead-letter queue, as 'list' shows it.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]


@app.command("list")
def list_queues() -> None:
    """List all queues with the approximate numbers of their messages, and what to do about those that failed."""
    found, out = queues.listed(chosen_stack(), hints.chosen.stack_name), views.console()
    rows = [[one.name, _purpose(one), str(one.waiting), str(one.in_flight)] for one in found]
    drawn = views.table("Queues", ["queue", "gets", "waiting", "in flight"], rows)
    output.show({"queues": [shapes.queue(one) for one in found]}, drawn)
    for one in (one for one in found if one.is_for_failures and one.waiting):
        out.print(hints.command(*queues.command_of(one.name)))


@app.command()
def redrive(queue: Name, yes: Yes = False) -> None:
    """Send the messages of a dead-letter queue, or the records in a bucket of failed records, through again.

    Exits with 1 if any of them is left.
    """
    stack, out = chosen_stack(), views.console()
    found = queues.find(stack, hints.chosen.stack_name, queue)
    if not found.waiting:
        output.document_only({"queue": queue, "again": 0, "left": 0})
        out.print(f"{queue} is empty.")
        return
    if not yes:
        output.ask(f"Send about {found.waiting} of {queue} through again?")
    done = queues.redrive(stack, found)
    output.document_only({"queue": queue, "again": done.again, "left": done.left})
    out.print(f"{done.again} sent through again, {done.left} left.")
    if done.left or found.source:
        out.print(_left(stack, found))
    raise typer.Exit(1 if done.left else 0)


def _left(stack: Stack, queue: QueueView) -> str:
    """Say what to do about the remaining messages."""
    if queue.holds_records:
        return "What is left failed again, or was not written by Lambda; the log of the function says why."
    what = "What is invalid fails again" if queue.source else "What is left holds no event"
    where = f" --endpoint-url {stack.endpoint}" if stack.endpoint else ""
    return f"{what}. Once you have handled it: aws sqs purge-queue --queue-url {queue.url}{where}"


def _purpose(queue: QueueView) -> str:
    if queue.holds_records:
        return "stream records that no function could handle"
    if queue.source:
        return f"what failed of {queue.source}"
    return "what a function or its rule could not handle" if queue.is_for_failures else "messages"
