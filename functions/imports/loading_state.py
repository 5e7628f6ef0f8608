"""The state csv_loader."""

from datetime import datetime
from typing import Any

from .errors import FileRefused, ImportCutOff
from .finalizing import Finalization
from .requests import Job
from .state import Import, Status


def load(finalization: Finalization, job: Job, at: datetime) -> dict[str, Any]:
    """Load the file of an import; end the import if the file, or by its option a row, is refused.

    Returns {"status", "rows", "max_concurrency"}. A repeated call returns the same, and reads no file: the Map may run.
    Raises ImportCutOff, BucketUnavailable.
    """
    made = finalization.table.known(job.key)
    if not (made.loaded or made.stopped or made.decided or made.final):
        _load(finalization, made, at)
        made = finalization.table.known(job.key)
    if made.decided or made.final:
        return _answer(finalization.finish(made, at))
    if made.stopped:
        raise ImportCutOff(f"{job.import_id}: was stopped")
    return _answer(Status.PROCESSING, made.total_rows, made.options.max_concurrency)


def _load(finalization: Finalization, made: Import, at: datetime) -> None:
    try:
        found = finalization.loader.load(made)
    except FileRefused as refused:
        finalization.refuse(made, refused, at)
        return
    if finalization.refuses(made, found):
        finalization.refuse_rows(made, found, at)
    else:
        finalization.table.loaded(made.key, found.values, at)


def _answer(status: Status, rows: int = 0, max_concurrency: int = 1) -> dict[str, Any]:
    return {"status": str(status), "rows": rows, "max_concurrency": max_concurrency}
