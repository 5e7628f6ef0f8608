"""`stepwise import`: users from a CSV file, followed row by row to the result."""

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.table import Table

from stepwise.operations import user_imports
from stepwise.operations.errors import Word
from stepwise.operations.stack import Stack
from stepwise.operations.user_imports import Summary

from . import checks, hints, output, views, waiting
from .checks import Encoding, EncodingConfirmed
from .options import chosen_stack
from .waiting import interrupted

File = Annotated[Path, typer.Argument(help="CSV; its first line names the columns.", exists=True, dir_okay=False)]


def import_users(
    file: File,
    validate_only: Annotated[bool, typer.Option("--validate-only", help="Check every row, create nothing.")] = False,
    retry_of: Annotated[str, typer.Option(help="Key of a result file: run only its failed rows.")] = "",
    encoding: Annotated[Encoding | None, typer.Option(help="Encoding of the file. Japanese Excel saves cp932.")] = None,
    encoding_confirmed: EncodingConfirmed = False,
    instance_id: Annotated[str, typer.Option(help="Connect instance to use, instead of the stack's own.")] = "",
    result: Annotated[
        Path | None, typer.Option(callback=checks.new_file, help="Where to save the result file.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="With --result: replace the file.")] = False,
) -> None:
    """Create Amazon Connect users from a CSV file, and show its progress. Exits with 1 unless every row succeeds."""
    stack, out = chosen_stack(), views.console()
    if result and result.exists() and not force:
        raise typer.BadParameter(f"{result} exists; choose another name, or pass --force", param_hint="--result")
    options = {
        "validate_only": validate_only,
        "retry_of": retry_of,
        "encoding": encoding,
        "encoding_confirmed": encoding_confirmed,
        "instance_id": instance_id,
    }
    request = {field: value for field, value in options.items() if value}
    started = user_imports.start(stack, file, **request)
    out.print(f"Started import {started}.")
    with interrupted(f"The import {started} continues; its result will be in {stack.outputs['UsersBucket']}."):
        follow(stack, started, out)
        ended = _ended(stack, started, file, request)
    output.show(asdict(ended), summary_table(ended))
    out.print(_what_next(stack, file, ended, request))
    if result:
        result.write_bytes(user_imports.result_file(stack, ended))
        out.print(f"Saved as {result}.")
    raise typer.Exit(1 if ended.failed else 0)


def _ended(stack: Stack, name: str, file: Path, request: Mapping[str, Any]) -> Summary:
    """Return the summary of an import. Raises ImportFailed with the command that runs the rows again."""
    try:
        return user_imports.summary(stack, name)
    except user_imports.ImportFailed as failed:
        if failed.result_key:
            where = f"s3://{stack.outputs['UsersBucket']}/{failed.result_key}"
            raise user_imports.ImportFailed(
                f"{failed}; its result is {where}", again(str(file), {**request, "retry_of": failed.result_key})
            ) from None
        raise


def follow(stack: Stack, name: str, out: Console) -> None:
    """Show rows done, created, failed, rate and time left, until the import has ended."""
    if not waiting.on_terminal():
        with waiting.waiting("starting") as line:
            for seen in user_imports.follow(stack, name):
                line.update(f"{seen.state} {_counts(seen)}")
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TextColumn("{task.fields[counts]}"),
        TextColumn("{task.fields[pace]}"),
    )
    with Progress(*columns, console=out, transient=True) as bar:
        task = bar.add_task("starting", total=None, counts="", pace="")
        for seen in user_imports.follow(stack, name):
            _show(bar, task, seen)


def _show(bar: Progress, task: TaskID, seen: user_imports.Progress) -> None:
    bar.update(task, description=seen.state, total=seen.total, completed=seen.done, counts=_counts(seen))
    shown = bar.tasks[0]
    left = f", {shown.time_remaining:.0f} s left" if shown.time_remaining is not None else ""
    bar.update(task, pace=f"{shown.speed:.1f} rows/s{left}" if shown.speed else "")


def _counts(seen: user_imports.Progress) -> str:
    created = max(seen.done - seen.failed, 0)
    return f"{seen.done}/{seen.total} rows, {created} created, {seen.failed} failed" if seen.total else ""


def summary_table(ended: Summary) -> Table:
    """Build a table with the summary of an import."""
    succeeded = "valid" if ended.validate_only else "succeeded"
    columns = ["import", "rows", "run now", succeeded, "failed", "result file"]
    numbers = [str(number) for number in (ended.rows, ended.run, ended.succeeded, ended.failed)]
    return views.table("Import", columns, [[ended.import_id, *numbers, ended.result_key]])


def _what_next(stack: Stack, file: Path, ended: Summary, request: Mapping[str, Any]) -> str:
    where = f"The result is s3://{stack.outputs['UsersBucket']}/{ended.result_key}"
    if not ended.failed or ended.validate_only:
        return f"{where}."
    command = hints.command(*again(str(file), {**request, "retry_of": ended.result_key}))
    return f"{where}; correct the rows with False, and run them again with\n{command}"


def again(file: str, request: Mapping[str, Any]) -> list[Word]:
    """Return the words that import a file with these fields of the workflow's input."""
    words: list[Word] = ["import", file]
    for field in ("retry_of", "instance_id", "encoding"):
        if request.get(field):
            words.append((f"--{field.replace('_', '-')}", str(request[field])))
    words += [("--encoding-confirmed",)] if request.get("encoding_confirmed") else []
    return words + ([("--validate-only",)] if request.get("validate_only") else [])
