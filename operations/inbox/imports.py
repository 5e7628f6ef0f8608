"""Imports of rows that failed as a whole, and were neither stopped by an operator nor retried since.

A DIRECT import has no execution: its caller has its outcome.
"""

import json
from collections.abc import Iterator

from imports.keys import ImportKey
from imports.state import Import, Status
from operations import imports, runs
from operations.runs import Run
from operations.stack import Stack

from .concern import Concern

_LAST = 200
"""A retry is looked for among so many of the tenant's imports."""


def concerns(stack: Stack, _name: str) -> Iterator[Concern]:
    for output in ("ImportCsvArn", "ImportZipArn"):
        for run in runs.failed(stack, output):
            yield from _concern(stack, run)


def _concern(stack: Stack, run: Run) -> Iterator[Concern]:
    key = ImportKey(**json.loads(run.input))
    made = imports.view(stack, key).made
    if made.status is Status.FAILED and not made.stopped and not _retried(stack, key):
        name = imports.name_of(key)
        yield Concern("imports", name, "failed", _cause(made, run), ("imports", "show", name), run.started.isoformat())


def _retried(stack: Stack, key: ImportKey) -> bool:
    return any(one.values.get("retry_of") == key.import_id for one in imports.of_tenant(stack, key.tenant_code, _LAST))


def _cause(made: Import, run: Run) -> str:
    error = made.values.get("error")
    return f"{error['code']}: {error['message']}" if error else run.cause
