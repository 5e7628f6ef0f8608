"""The progress bars of `stepwise imports` and `stepwise tasks`: done, total, rate, failures, time left."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn

from stepwise.operations.imports import ImportView

from . import waiting

_COLUMNS = ("{task.description}", "{task.fields[counts]}", "{task.fields[pace]}")


@dataclass(frozen=True, slots=True)
class Shown:
    """The content of a bar. unit: such as "rows". more: in addition to done, total and failed."""

    status: str
    unit: str
    total: int
    done: int
    failed: int
    more: str = ""


def progress(views: Iterable[ImportView], out: Console) -> ImportView:
    """Show an import until it has ended. Returns the last view."""
    return follow(views, out, _shown)


def follow[V](views: Iterable[V], out: Console, shown: Callable[[V], Shown]) -> V:
    """Show each view. Returns the last one."""
    if not waiting.on_terminal():
        with waiting.waiting("waiting") as line:
            for seen in views:
                line.update(_line(shown(seen)))
        return seen
    description, counts, pace = map(TextColumn, _COLUMNS)
    with Progress(description, BarColumn(), counts, pace, console=out, transient=True) as bar:
        task = bar.add_task("CREATED", total=None, counts="", pace="")
        for seen in views:
            _show(bar, task, shown(seen))
    return seen


def _shown(seen: ImportView) -> Shown:
    total, done, failed = (seen.count(f"{name}_rows") for name in ("total", "processed", "failed"))
    ended = sum(child.status.final for child in seen.children)
    more = f", {ended} of {seen.made.values['entries']} files" if seen.children else ""
    return Shown(str(seen.made.status), "rows", total, done, failed, more)


def _line(seen: Shown) -> str:
    return f"{seen.status} {seen.done:,}/{seen.total:,} {seen.unit}, {seen.failed:,} failed{seen.more}"


def _show(bar: Progress, task: TaskID, seen: Shown) -> None:
    counts = f"{seen.done:,}/{seen.total:,} {seen.unit}, {seen.failed:,} failed" if seen.total else ""
    bar.update(
        task, description=seen.status, total=seen.total or None, completed=seen.done, counts=f"{counts}{seen.more}"
    )
    shown = bar.tasks[task]
    left = f", {shown.time_remaining:,.0f} s left" if shown.time_remaining is not None else ""
    bar.update(task, pace=f"{shown.speed:,.0f} {seen.unit}/s{left}" if shown.speed else "")
