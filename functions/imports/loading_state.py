"""The state csv_loader."""

from datetime import datetime
from typing import Any

from .errors import FileRefused, ImportCutOff
from .finalizing import Finalization
from .request import Job
from .state import Status


def load(finalization: Finalization, job: Job, at: datetime) -> dict[str, Any]:
    """Load the file of an import; end the import if the file, or by its option a row, is refused.

    Returns {"status", "rows", "max_concurrency"}. Raises ImportCutOff, BucketUnavailable.
    """
    made = finalization.table.known(job.key)
    if made.status is Status.FAILED:
        return _answer(Status.FAILED)
    if made.stopped or made.status.final:
        raise ImportCutOff(f"{job.import_id}: was stopped, or has ended")
    try:
        found = finalization.loader.load(made)
    except FileRefused as refused:
        return _answer(finalization.refuse(made, refused, at))
    if finalization.refuses(made, found):
        return _answer(finalization.refuse_rows(made, found, at))
    finalization.table.loaded(job.key, found.values, at)
    return _answer(Status.PROCESSING, found.rows, made.options.max_concurrency)


def _answer(status: Status, rows: int = 0, max_concurrency: int = 1) -> dict[str, Any]:
    return {"status": str(status), "rows": rows, "max_concurrency": max_concurrency}
