"""`stepwise imports`: rows of a CSV or ZIP file as commands: start, follow, look up, retry, stop."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from imports.state import DIRECT, STEP_FUNCTION
from stepwise.operations import imports

from . import hints, import_views, output, shapes, views
from .checks import Encoding, EncodingConfirmed
from .import_run import explain, run, to_its_end
from .options import Yes, chosen_stack

app = typer.Typer(
    help="Imports of CSV and ZIP files whose every row is published as one command. "
    "(Amazon Connect users: 'stepwise import'.)",
    no_args_is_help=True,
)


class Mode(StrEnum):
    direct = DIRECT
    step_function = STEP_FUNCTION


class Duplicates(StrEnum):
    refuse = "refuse"
    last = "last"


Name = Annotated[str, typer.Argument(metavar="IMPORT", help="TENANT_CODE/IMPORT_ID, as 'list' shows it.")]
Of = Annotated[str, typer.Option("--of", metavar="IMPORT", help="The import to retry: TENANT_CODE/IMPORT_ID.")]
File = Annotated[Path | None, typer.Argument(help="CSV or ZIP, which is uploaded.", exists=True, dir_okay=False)]
ValidateOnly = Annotated[bool, typer.Option("--validate-only", help="Check every row, store nothing.")]
Follow = Annotated[bool, typer.Option("--follow/--no-follow", help="Follow the import to its end.")]
Processing = Annotated[Mode | None, typer.Option("--mode", help="Default: DIRECT up to 1,000 rows.")]
Save = Annotated[
    Path | None,
    typer.Option(
        "--save", metavar="FOLDER", help="Save the results here.", exists=True, file_okay=False, writable=True
    ),
]
Force = Annotated[bool, typer.Option("--force", help="With --save: replace files that are there already.")]


@app.command()
def create(
    tenant: Annotated[str, typer.Option(help="The tenant_code.")],
    kind: Annotated[
        str, typer.Option("--type", help="Of every row, such as PRODUCT. A file of a ZIP may name its own.")
    ],
    file: File = None,
    key: Annotated[str, typer.Option(help="Key of a file in ImportsBucket, instead of FILE.")] = "",
    mode: Processing = None,
    validate_only: ValidateOnly = False,
    duplicates: Annotated[
        Duplicates | None, typer.Option(help="Rows with one key. refuse: all of them; last: all but the last one.")
    ] = None,
    ignore_unknown_columns: Annotated[
        bool, typer.Option("--ignore-unknown-columns", help="Instead of refusing.")
    ] = False,
    encoding: Annotated[Encoding | None, typer.Option(help="Of the file. Japanese Excel saves cp932.")] = None,
    encoding_confirmed: EncodingConfirmed = False,
    all_or_nothing: Annotated[
        bool, typer.Option("--all-or-nothing", help="Check all rows first; run none if one is wrong.")
    ] = False,
    parallel: Annotated[int | None, typer.Option(min=1, max=10, help="Files of a ZIP at once.")] = None,
    max_concurrency: Annotated[int | None, typer.Option(min=1, max=50, help="Batches of 100 rows at once.")] = None,
    wait: Follow = True,
    save: Save = None,
    force: Force = False,
) -> None:
    """Import a CSV or ZIP file, and follow it to its end. Exits with 1 unless every row succeeds."""
    if bool(file) == bool(key):
        raise typer.BadParameter("pass either FILE or --key", param_hint="FILE")
    options = {
        "duplicates": duplicates,
        "unknown_columns": "ignore" if ignore_unknown_columns else None,
        "encoding": encoding,
        "encoding_confirmed": encoding_confirmed,
        "all_or_nothing_validation": all_or_nothing,
        "parallel": parallel,
        "max_concurrency": max_concurrency,
    }
    request = {
        "tenant_code": tenant,
        "type": kind,
        "key": key,
        "processing_mode": mode,
        "validate_only": validate_only,
        "options": _given(options),
    }
    run(chosen_stack(), file, _given(request), wait=wait, save=save, force=force)


@app.command()
def retry(
    of: Of,
    file: Annotated[
        Path | None,
        typer.Argument(
            help="Corrected failed.csv or unprocessed.csv. Without it, all rows of the first file.",
            exists=True,
            dir_okay=False,
        ),
    ] = None,
    mode: Processing = None,
    validate_only: ValidateOnly = False,
    encoding: Annotated[
        Encoding | None,
        typer.Option(help="Of the file. Default: utf-8 of a corrected file, otherwise that of the first one."),
    ] = None,
    encoding_confirmed: EncodingConfirmed = False,
    wait: Follow = True,
    save: Save = None,
    force: Force = False,
) -> None:
    """Run rows of an import again: a row that is stored is reported, and never stored twice. Exits as 'create'."""
    earlier, stack = imports.parse_key(of), chosen_stack()
    if encoding_confirmed and file and not encoding:
        encoding = Encoding.utf_8
    changed: dict[str, Any] = {"encoding": encoding} if encoding else {}
    changed |= {"encoding_confirmed": True} if encoding_confirmed else {}
    request = {
        "tenant_code": earlier.tenant_code,
        "retry_of": earlier.import_id,
        "processing_mode": mode,
        "validate_only": validate_only,
        "options": imports.options_with(stack, earlier, changed) if changed else None,
    }
    run(stack, file, _given(request), wait=wait, save=save, force=force)


@app.command()
def follow(
    name: Name,
    save: Save = None,
    force: Force = False,
) -> None:
    """Follow an import to its end: rows, rate, failed rows, time left. Exits with 1 unless every row succeeds."""
    key, stack = imports.parse_key(name), chosen_stack()
    to_its_end(stack, key, save, force=force)


@app.command()
def show(
    name: Name,
    save: Save = None,
    force: Force = False,
) -> None:
    """Show an import, and why rows failed. --save fetches failed.csv, succeeded.csv and unprocessed.csv."""
    key, stack, out = imports.parse_key(name), chosen_stack(), views.console()
    seen = imports.view(stack, key)
    out.print(import_views.details(seen))
    explain(stack, out, seen, save, force=force)


@app.command("list")
def list_imports(
    tenant: Annotated[str, typer.Option(help="Of this tenant, the newest first, also those that have ended.")] = "",
    last: Annotated[int, typer.Option(min=1, help="How many.")] = 20,
) -> None:
    """List imports: those of all tenants that have not ended or, with --tenant, the last ones of a tenant."""
    stack, out = chosen_stack(), views.console()
    if tenant:
        title, found = f"Imports of {tenant}", imports.of_tenant(stack, tenant, last)
    else:
        title, found = "Imports that have not ended", imports.running(stack)[:last]
    output.show({"imports": [shapes.import_(one) for one in found]}, import_views.listed(title, found))
    if tenant:
        return
    out.print("With --tenant TENANT_CODE: also those that have ended.")


@app.command()
def stop(
    name: Name,
    yes: Yes = False,
) -> None:
    """Stop an import: what has not begun stays unprocessed, and can be retried. Asks first, and records your ARN."""
    key, stack, out = imports.parse_key(name), chosen_stack(), views.console()
    if not yes:
        seen = imports.view(stack, key)
        done, rows = seen.count("processed_rows"), seen.count("total_rows")
        output.ask(f"Stop {name}, of which {done:,} of {rows:,} rows have an outcome?")
    by = imports.stop(stack, key)
    output.document_only({"import": name, "stopped_by": by})
    command = hints.command("imports", "follow", name)
    out.print(
        f"Stopped by {by}. Its results follow, once its last batches have ended:\n{command}",
    )


def _given(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value not in (None, "", False, {})}
