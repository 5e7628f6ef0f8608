"""Imports of users that failed as a whole, if none of their file has succeeded since."""

import json
from collections.abc import Iterator

from operations import runs
from operations.runs import Run
from operations.stack import Stack

from .concern import Concern

_OUTPUT = "UserImportArn"


def concerns(stack: Stack, _name: str) -> Iterator[Concern]:
    failed = runs.failed(stack, _OUTPUT)
    succeeded = runs.listed(stack, _OUTPUT, "SUCCEEDED", min(one.started for one in failed)) if failed else []
    for run in failed:
        if not any(later.started > run.started and _file(later) == _file(run) for later in succeeded):
            see = ("user-imports", "show", run.name)
            yield Concern("user-imports", run.name, run.status.lower(), run.cause, see, run.started.isoformat())


def _file(run: Run) -> str:
    """The name of its file; empty for the newest one in the bucket."""
    document = json.loads(run.input or "{}")
    return str(document.get("key") or "").rpartition("/")[2]
