"""Imports of users that failed as a whole, if none of their file has succeeded since."""

from collections.abc import Iterator

from stepwise.operations import runs, user_imports
from stepwise.operations.runs import Run
from stepwise.operations.stack import Stack

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
    """The name of its file; empty for the newest one in the bucket.

    `import` stores a file whose name has no date below a folder of its name, under a name with the date of the day.
    """
    folder, _, name = user_imports.key_of(run.input).rpartition("/")
    return folder.removeprefix("manual/") if folder.startswith("manual/") else name
