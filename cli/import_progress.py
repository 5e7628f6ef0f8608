"""The progress bar of `stepwise imports`: rows, rate, failed rows, time left."""

from collections.abc import Iterable

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from operations.imports import ImportView

_COLUMNS = ("{task.description}", "{task.fields[counts]}", "{task.fields[pace]}")


def progress(views: Iterable[ImportView], out: Console) -> ImportView:
    """Show an import until it has ended. Returns what was seen last."""
    description, counts, pace = map(TextColumn, _COLUMNS)
    with Progress(description, BarColumn(), counts, pace, console=out, transient=True) as bar:
        task = bar.add_task("CREATED", total=None, counts="", pace="")
        for seen in views:
            _show(bar, task, seen)
    return seen


def _show(bar: Progress, task: TaskID, seen: ImportView) -> None:
    rows, done, failed = (seen.count(f"{name}_rows") for name in ("total", "processed", "failed"))
    counts = f"{done:,}/{rows:,} rows, {failed:,} failed" if rows else ""
    if seen.children:
        ended = sum(child.status.final for child in seen.children)
        counts += f", {ended} of {seen.made.values['entries']} files"
    bar.update(task, description=str(seen.made.status), total=rows or None, completed=done, counts=counts)
    shown = bar.tasks[task]
    left = f", {shown.time_remaining:,.0f} s left" if shown.time_remaining is not None else ""
    bar.update(task, pace=f"{shown.speed:,.0f} rows/s{left}" if shown.speed else "")
