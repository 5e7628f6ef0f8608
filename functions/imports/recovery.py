"""Follows the stream of ImportsTable, and makes up for records and events that were lost.

The events of ends are handled here too: an import whose execution was cut off is finalized.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from runtime.machine import RUNNING
from runtime.notices import Notice, changed_status
from runtime.streams import Record
from runtime.sweep import Sweep, in_turns

from .errors import StillRunning
from .executions import Machines
from .requests import ImportEnded
from .state import STEP_FUNCTION, TOTALS, BatchRecord, Import, ImportKey, Status
from .table import ImportsTable

# The function that follows the stream does not finalize.
if TYPE_CHECKING:
    from .finalizing import Finalization
    from .zips import Children, ZipFinalization

# A transaction has 100 actions, of which one is for the import's own row, and one for its ZIP's.
_AT_ONCE = 98
# A DIRECT import's function has timed out by then.
_DIRECT_LIFE = timedelta(minutes=5)
# The stream starts an import within seconds.
_GRACE = timedelta(minutes=1)

type Image = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Following:
    table: ImportsTable
    machines: Machines
    children: "Children"

    def follow(self, records: Sequence[Record], at: datetime) -> dict[str, Any]:
        """Start imports, count batches, and answer the tokens of children that have ended.

        A failure of one import lets all records come again. A repeated call changes nothing.

        Returns {"batchItemFailures": [...]}.
        """
        new = [record["dynamodb"]["NewImage"] for record in records if record.get("eventName") == "INSERT"]
        for image in new:
            if _kind(image) == "import" and image["processing_mode"]["S"] == STEP_FUNCTION:
                self.machines.start(Import.of(image))
        counted = defaultdict[ImportKey, list[tuple[int, Mapping[str, int]]]](list)
        for image in new:
            if _kind(image) == "batch" and "barred" not in image:
                batch = BatchRecord.of(image)
                counted[_import_of(image)].append((batch.first_row, batch.counts))
        for key, batches in counted.items():
            for start in range(0, len(batches), _AT_ONCE):
                self.table.count(key, batches[start : start + _AT_ONCE], at)
        for record in records:
            if record.get("eventName") == "MODIFY":
                self.children.answer(record["dynamodb"]["NewImage"])
        return {"batchItemFailures": []}


def notice_of(record: Record) -> Notice | None:
    """The notice of an import that ended; None for any other change, such as a retry's."""
    after = changed_status(record)
    if after is None or not (ended := Import.of(after)).final:
        return None
    values = ended.values
    data = {"type": values["type"], "validated": ended.validated, **{name: values[name] for name in TOTALS}}
    data |= {name: values[name] for name in ("parent_id", "retry_of") if name in values}
    return Notice(
        type="import",
        tenant_code=ended.key.tenant_code,
        id=ended.key.import_id,
        status=str(ended.status),
        occurred_at=values["ended_at"],
        data=data,
    )


@dataclass(frozen=True, slots=True)
class Recovery:
    """Each call may be repeated, also by several callers at once."""

    finalization: "Finalization"
    machines: Machines

    def end(self, ended: ImportEnded, at: datetime, time_left: Callable[[], bool]) -> Status | None:
        """Finalize an import whose execution was cut off, after its Map Run has ended.

        Returns its status; None if the execution is not an import's own, or was redriven. Raises StillRunning.
        """
        if (job := ended.job) is None or self.machines.was_redriven(ended.execution_arn):
            return None
        self.machines.wait_for_map_run(job.key, time_left)
        # Waiting takes minutes.
        if self.machines.was_redriven(ended.execution_arn):
            return None
        return self.finalization.finish_cut_off(self.finalization.table.known(job.key), at)

    def sweep(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Look at every open import. Returns how many are open, and what was done. Raises SweepUnfinished."""
        found = in_turns(self.finalization.table.open(), lambda seen: seen.key.tenant_code)
        swept = Sweep("import", lambda seen: self._review(seen, at), _ids).run(found, time_left)
        return swept.report(("running", "started", "ended"), open=len(found))

    def _review(self, seen: Import, at: datetime) -> str:
        """Bring an import one step further. seen: as the index has it, which may be late.

        Returns a word for the step.
        """
        found = self.finalization.table.find(seen.key)
        if found is None or found.final or found.created + _GRACE > at:
            return "running"
        if found.direct:
            if found.created + _DIRECT_LIFE > at:
                return "running"
        else:
            status = self.machines.status(found)
            if status is None:
                self.machines.start(found)
                return "started"
            if status == RUNNING or found.zip:
                return "running"
            try:
                self.machines.check_map_run_ended(found.key)
            except StillRunning:
                return "running"
        self.finalization.finish_cut_off(found, at)
        return "ended"


@dataclass(frozen=True, slots=True)
class ZipRecovery:
    """ZIPs whose machine has ended without finalizing them, and tokens whose answer was lost."""

    children: "Children"
    finalization: "ZipFinalization"
    machines: Machines

    def end(self, ended: ImportEnded, at: datetime) -> None:
        """Finalize a ZIP whose execution was cut off, unless a redrive continues it, or children still run."""
        if ended.job and not self.machines.was_redriven(ended.execution_arn):
            with suppress(StillRunning):
                self.cut_off(ended.job.key, at)

    def sweep(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Look at every ZIP that has not ended. Returns what was done. Raises SweepUnfinished."""
        zips = in_turns((seen for seen in self.children.table.open() if seen.zip), lambda seen: seen.key.tenant_code)
        swept = Sweep("ZIP", lambda seen: self._review(seen, at), _ids).run(zips, time_left)
        return swept.report(("answered", "ended"), open=len(zips))

    def cut_off(self, key: ImportKey, at: datetime) -> None:
        """Finalize a ZIP whose execution has ended. If a person stopped it, stop its children first.

        Raises StillRunning while children run.
        """
        found = self.children.table.find(key)
        if found and found.stopped and not found.final:
            self.children.stop(found, at)
        self.finalization.finalize(key, at)

    def _review(self, seen: Import, at: datetime) -> str:
        """As `Recovery._review`. The sweep of imports starts what was never started."""
        if self.machines.status(seen) in (None, RUNNING):
            return "answered" if self.children.answer_all(seen) else "running"
        try:
            self.cut_off(seen.key, at)
        except StillRunning:
            return "running"
        return "ended"


def _ids(seen: Import) -> dict[str, str]:
    return {"import_id": seen.key.import_id}


def _kind(image: Image) -> str:
    return str(image["kind"]["S"])


def _import_of(image: Image) -> ImportKey:
    """The key of the import that a batch belongs to."""
    tenant_code, import_id = image["pk"]["S"].partition("#")[2], image["sk"]["S"].split("#")[1]
    return ImportKey(tenant_code, import_id)
