"""Imports of rows that failed as a whole or were cut off, and were neither stopped by an operator nor retried since.

A DIRECT import has no execution: its caller has its outcome.
"""

import json
from collections.abc import Iterator

from imports.state import Import, ImportKey, Status
from stepwise.operations import imports, runs
from stepwise.operations.imports import ImportNotFound
from stepwise.operations.runs import Run
from stepwise.operations.stack import Stack

from .concern import Concern

_LAST = 200
"""Its retry, or its file imported again, is looked for among so many of the tenant's imports."""


def concerns(stack: Stack, _name: str) -> Iterator[Concern]:
    for output in ("ImportCsvArn", "ImportZipArn"):
        for run in runs.failed(stack, output):
            yield from _concern(stack, run)


def _concern(stack: Stack, run: Run) -> Iterator[Concern]:
    try:
        key = _key(run.input)
        made = imports.view(stack, key).made
    except ImportNotFound:
        return
    problem = _problem(made)
    if problem and not made.stopped and not _done_since(stack, made):
        name = imports.name_of(key)
        yield Concern("imports", name, problem, _cause(made, run), ("imports", "show", name), run.started.isoformat())


def _key(text: str) -> ImportKey:
    """The import of an execution. Raises ImportNotFound: somebody started it by hand, with another input."""
    match json.loads(text):
        case {"tenant_code": str(tenant_code), "import_id": str(import_id)}:
            return ImportKey(tenant_code, import_id)
    raise ImportNotFound("this execution did not run an import")


def _problem(made: Import) -> str:
    """Empty if there is none, or as long as its end has not been recorded."""
    if made.status is Status.FAILED:
        return "failed"
    if not made.status.final:
        return ""
    if made.zip:
        # The rows that did not run are those of its entries, which are imports of their own.
        return "cut off; not all of its entries were imported" if "error" in made.values else ""
    left = int(made.values.get("unprocessed_rows", 0))
    return f"cut off; {left:,} rows did not run" if left else ""


def _done_since(stack: Stack, made: Import) -> bool:
    """Whether it was retried, or another import of its file has not failed since."""
    others = imports.of_tenant(stack, made.key.tenant_code, _LAST)
    ran = [one for one in others if not one.validated]
    return any(one.values.get("retry_of") == made.key.import_id or _replaces(one, made) for one in ran)


def _replaces(one: Import, made: Import) -> bool:
    same = imports.file_of(one) == imports.file_of(made)
    return same and one.created > made.created and one.status is not Status.FAILED


def _cause(made: Import, run: Run) -> str:
    error = made.values.get("error")
    return f"{error['code']}: {error['message']}" if error else run.cause
