"""Runs an import from the command line: to its end, with the reasons of failed rows and what to do next."""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console

from imports.keys import ImportKey
from imports.state import Status
from operations import import_results, imports
from operations.imports import ImportView, name_of
from operations.stack import Stack

from . import import_views, views
from .import_progress import progress


def run(stack: Stack, file: Path | None, request: dict[str, Any], hint: str, *, wait: bool, save: Path | None) -> None:
    out = views.console()
    with (
        out.status("uploading") as status,
        _interrupted(f"See './stepwise imports list --tenant {request['tenant_code']}{hint}'."),
    ):
        if file:
            request = {**request, "key": imports.upload(stack, file)}
        status.update("creating the import; one with up to 1,000 rows runs now")
        key = imports.create(stack, request)
    with _come_back(key, hint):
        out.print(f"Import {name_of(key)}", markup=False, soft_wrap=True)
        if wait:
            to_its_end(stack, key, hint, save)
        out.print(f"Follow it with './stepwise imports follow {name_of(key)}{hint}'.", markup=False, soft_wrap=True)


def to_its_end(stack: Stack, key: ImportKey, hint: str, save: Path | None) -> NoReturn:
    """Exits with 0 if every row succeeded, otherwise with 1."""
    out = views.console()
    with _come_back(key, hint):
        last = progress(imports.follow(stack, key), out)
    out.print(import_views.summary(last))
    explain(stack, out, last, hint, save)
    raise typer.Exit(0 if last.made.status is Status.COMPLETED else 1)


def explain(stack: Stack, out: Console, seen: ImportView, hint: str, save: Path | None) -> None:
    """Why rows, or the file, failed; where the results are; what to do next."""
    if "error" in seen.made.values:
        out.print(import_views.refusal(seen.made))
    if found := import_results.reasons(stack, seen):
        out.print(import_views.reasons(found))
    saved = import_results.save(stack, seen, save) if save else []
    for line in [*(f"Saved {path}." for path in saved), *_next_steps(seen, hint)]:
        out.print(line, markup=False, soft_wrap=True)


def _next_steps(seen: ImportView, hint: str) -> Iterator[str]:
    if not seen.made.status.final:
        yield f"It has not ended. Follow it with './stepwise imports follow {seen.name}{hint}'."
    elif seen.children and seen.made.status is not Status.COMPLETED:
        yield "Retry the imports of its files, each by its own name."
    elif seen.made.values.get("results") and not seen.made.validated:
        if seen.count("failed_rows"):
            yield f"Save failed.csv with './stepwise imports show {seen.name} --save FOLDER{hint}', correct it, and run"
            yield f"./stepwise imports retry failed.csv --of {seen.name}{hint}"
        if seen.count("unprocessed_rows"):
            yield f"Rows without an outcome run with './stepwise imports retry --of {seen.name}{hint}'."


def _come_back(key: ImportKey, hint: str) -> AbstractContextManager[None]:
    return _interrupted(f"The import goes on. Come back with './stepwise imports follow {name_of(key)}{hint}'.")


@contextmanager
def _interrupted(message: str) -> Iterator[None]:
    """Ctrl-C says how to come back."""
    try:
        yield
    except KeyboardInterrupt:
        views.console(stderr=True).print(f"\n{message}", markup=False, soft_wrap=True)
        raise typer.Exit(130) from None
