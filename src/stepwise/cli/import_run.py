"""Runs an import from the command line: to its end, with the reasons of failed rows and what to do next."""

from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NoReturn

import typer
from rich.console import Console

from imports.state import STEP_FUNCTION, Import, ImportKey, Status
from stepwise.operations import import_results, imports
from stepwise.operations.errors import Word
from stepwise.operations.imports import ImportView, name_of
from stepwise.operations.stack import Stack

from . import hints, import_views, output, shapes, views, waiting
from .import_progress import progress
from .waiting import interrupted

_FLAGS = {
    "unknown_columns": "--ignore-unknown-columns",
    "all_or_nothing_validation": "--all-or-nothing",
    "encoding_confirmed": "--encoding-confirmed",
}
"""Options of an import that take no value on the command line."""


def run(
    stack: Stack, file: Path | None, request: dict[str, Any], *, wait: bool, save: Path | None, force: bool
) -> None:
    if save and wait and not force:
        import_results.check_folder(save)
    out = views.console()
    with (
        waiting.waiting("uploading") as status,
        interrupted(f"See {hints.command('imports', 'list', ('--tenant', request['tenant_code']))}"),
    ):
        if file:
            request = {**request, "key": imports.upload(stack, file)}
        status.update("creating the import; one with up to 1,000 rows runs now")
        key = imports.create(stack, request)
    with _come_back(key):
        out.print(f"Import {name_of(key)}")
        if wait:
            to_its_end(stack, key, save, file, force=force)
        output.document_only({"import": {"tenant_code": key.tenant_code, "import_id": key.import_id}})
        out.print(f"Follow it with {_follow(name_of(key))}")


def to_its_end(stack: Stack, key: ImportKey, save: Path | None, file: Path | None = None, *, force: bool) -> NoReturn:
    """Follow an import to its end. Exits with 0 if every row succeeded, otherwise with 1.

    file: its source, if known.
    """
    out = views.console()
    with _come_back(key):
        last = progress(imports.follow(stack, key), out)
    out.print(import_views.summary(last))
    explain(stack, out, last, save, file, force=force)
    raise typer.Exit(0 if last.made.status is Status.COMPLETED else 1)


def explain(
    stack: Stack, out: Console, seen: ImportView, save: Path | None, file: Path | None = None, *, force: bool
) -> None:
    """Explain why rows, or the file, failed; where the results are; what to do next."""
    if "error" in seen.made.values:
        out.print(import_views.refusal(seen.made))
    found = import_results.reasons(stack, seen)
    output.document_only(shapes.import_view(seen, found))
    if found:
        out.print(import_views.reasons(found))
    saved = import_results.save(stack, seen, save, force=force) if save else []
    for line in [*(f"Saved {path}." for path in saved), *_next_steps(seen, save, file)]:
        out.print(line)


def _next_steps(seen: ImportView, save: Path | None, file: Path | None) -> Iterator[str]:
    if not seen.made.status.final:
        yield f"It has not ended. Follow it with {_follow(seen.name)}"
    elif seen.children and seen.made.status is not Status.COMPLETED:
        yield "Retry the imports of its files, each by its own name."
    elif seen.made.values.get("results") and not seen.made.validated:
        if seen.count("failed_rows"):
            folder = save or _free_folder()
            if save is None:
                show = hints.command("imports", "show", seen.name, ("--save", str(folder)))
                yield f"Save failed.csv with {show}"
            yield "Correct failed.csv, and run"
            yield hints.command("imports", "retry", str(folder / "failed.csv"), ("--of", seen.name))
        if seen.count("unprocessed_rows"):
            yield f"Rows without an outcome run with {hints.command('imports', 'retry', ('--of', seen.name))}"
    elif "error" in seen.made.values and not seen.children:
        again = _again(seen.made, str(file or imports.file_of(seen.made)))
        yield f"Correct the file, and import it again: {hints.command(*again)}"


def _again(made: Import, file: str) -> Iterator[Word]:
    """Yield the words that import a file with the options of this import."""
    options = made.values.get("options", {})
    if made.corrected:
        yield from ("imports", "retry", file, ("--of", name_of(made.key)))
        # The retry inherits all others. A corrected file is in UTF-8 unless the command says otherwise.
        options = {name: value for name, value in options.items() if name == "encoding"}
    else:
        yield from ("imports", "create", file, ("--tenant", made.key.tenant_code))
        yield ("--type", str(made.values["type"]))
    if made.values.get("error", {}).get("code") == "WrongEncoding":
        # The error says which encoding the file needs.
        options = {name: value for name, value in options.items() if name != "encoding"}
    for name, value in options.items():
        yield (_FLAGS[name],) if name in _FLAGS else (f"--{name.replace('_', '-')}", str(value))
    # A file of this size is imported in DIRECT mode anyway.
    if not made.direct and not made.zip:
        yield ("--mode", STEP_FUNCTION)
    if made.validated:
        yield ("--validate-only",)


def _free_folder() -> Path:
    """Choose a folder for the results: here, unless it already has results."""
    try:
        import_results.check_folder(Path())
    except import_results.ResultsExist:
        return Path("FOLDER")
    return Path()


def _follow(name: str) -> str:
    return hints.command("imports", "follow", name)


def _come_back(key: ImportKey) -> AbstractContextManager[None]:
    return interrupted(f"The import continues. Come back with {_follow(name_of(key))}")
