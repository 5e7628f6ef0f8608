"""`stepwise tasks`: create, follow, look up, retry."""

from contextlib import AbstractContextManager
from pathlib import Path
from typing import Annotated

import typer

from stepwise.operations import tasks
from stepwise.operations.stack import Stack
from stepwise.operations.tasks import TaskView, name_of
from tasks.registered import TYPES
from tasks.state import Status, TaskKey

from . import hints, output, shapes, task_views, views
from .checks import read_json
from .import_progress import Shown
from .import_progress import follow as progress
from .options import chosen_stack
from .waiting import interrupted

app = typer.Typer(help="Tasks: many items, a few at once, each with an outcome of its own.", no_args_is_help=True)

Name = Annotated[str, typer.Argument(metavar="TASK", help="TENANT_CODE/TASK_ID, as 'list' shows it.")]
Follow = Annotated[bool, typer.Option("--follow/--no-follow", help="Follow the task to its end.")]


@app.command()
def create(
    file: Annotated[Path, typer.Argument(help="JSON: a list of items.", exists=True, dir_okay=False)],
    tenant: Annotated[str, typer.Option(help="The tenant_code.")],
    kind: Annotated[str, typer.Option("--type", help=f"One of {', '.join(TYPES.names)}.")],
    task_id: Annotated[str, typer.Option(help="Lets the call be repeated. Without one, each call is a task.")] = "",
    wait: Follow = True,
) -> None:
    """Create a task, and follow it to its end. Exits with 1 unless every item is COMPLETED."""
    request = {"task_type": kind, "tenant_code": tenant, "items": read_json(file, "FILE")}
    stack = chosen_stack()
    key = tasks.create(stack, {**request, **({"task_id": task_id} if task_id else {})})
    _go_on(stack, key, f"Task {name_of(key)}", wait=wait)


@app.command()
def retry(name: Name, wait: Follow = True) -> None:
    """Run the failed items of a task again. Exits as 'create'."""
    key, stack = tasks.parse_key(name), chosen_stack()
    items = tasks.retry(stack, key)
    _go_on(stack, key, f"Failed items of {name} that run again: {items}", wait=wait)


@app.command()
def follow(name: Name) -> None:
    """Follow a task to its end: items, rate, failed items, time left. Exits as 'create'."""
    key = tasks.parse_key(name)
    _to_its_end(chosen_stack(), key)


@app.command()
def show(
    name: Name,
    every_item: Annotated[bool, typer.Option("--items", help="Every item with its result.")] = False,
) -> None:
    """Show a task, and why each failed item failed."""
    key, out = tasks.parse_key(name), views.console()
    seen = tasks.view(chosen_stack(), key)
    output.show(shapes.task_view(seen, every_item=every_item), task_views.details(seen))
    if every_item:
        out.print(task_views.items(seen))
    _explain(seen)


@app.command("list")
def list_tasks(
    tenant: Annotated[str, typer.Option(help="Of this tenant, the newest first, also those that have ended.")] = "",
    status: Annotated[Status | None, typer.Option(help="Only those with this status; needs --tenant.")] = None,
    last: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
) -> None:
    """List tasks: those of all tenants that have not ended or, with --tenant, the last ones of a tenant."""
    if status and not tenant:
        raise typer.BadParameter("needs --tenant", param_hint="--status")
    stack, out = chosen_stack(), views.console()
    if tenant:
        title, found = f"Tasks of {tenant}", tasks.of_tenant(stack, tenant, status, last)
    else:
        title, found = "Tasks that have not ended", tasks.running(stack)[:last]
    output.show({"tasks": [shapes.task(one) for one in found]}, task_views.listed(title, found))
    if tenant:
        return
    out.print("With --tenant TENANT_CODE: also those that have ended.")


def _go_on(stack: Stack, key: TaskKey, began: str, *, wait: bool) -> None:
    with _come_back(key):
        views.console().print(began)
        if wait:
            _to_its_end(stack, key)
    output.document_only({"task": {"tenant_code": key.tenant_code, "task_id": key.task_id}})
    views.console().print(f"Follow it with {_follow(name_of(key))}")


def _to_its_end(stack: Stack, key: TaskKey) -> None:
    """Follow a task to its end. Exits with 0 if every item is COMPLETED, otherwise with 1."""
    out = views.console()
    with _come_back(key):
        last = progress(tasks.follow(stack, key), out, _shown)
    output.show(shapes.task_view(last), task_views.listed("Task", [last.task]))
    _explain(last)
    raise typer.Exit(0 if last.task.status is Status.COMPLETED else 1)


def _shown(seen: TaskView) -> Shown:
    ended = [item for item in seen.items if item.ended_in(seen.task.attempt)]
    failed = sum(item.status is Status.FAILED for item in ended)
    return Shown(str(seen.task.status), "items", len(seen.items), len(ended), failed)


def _explain(seen: TaskView) -> None:
    out = views.console()
    if seen.failed:
        out.print(task_views.failures(seen))
    if not seen.task.status.final:
        out.print(f"It has not ended. Follow it with {_follow(seen.name)}")
    elif seen.failed:
        again = hints.command("tasks", "retry", seen.name)
        out.print(f"Run the failed items again with {again}")


def _follow(name: str) -> str:
    return hints.command("tasks", "follow", name)


def _come_back(key: TaskKey) -> AbstractContextManager[None]:
    return interrupted(f"The task continues. Come back with {_follow(name_of(key))}")
