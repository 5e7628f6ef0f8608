"""What follows changes of ImportsTable: a machine is started, batches are counted, and the end of a child is told."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from .batch_record import BatchRecord
from .executions import Machines
from .keys import ImportKey
from .request import STEP_FUNCTION
from .state import Import
from .table import ImportsTable
from .zip_children import Children
from .zip_rows import ZipRows

# A transaction has 100 actions, of which one is for the import's own row, and one for its ZIP's.
_AT_ONCE = 98

type Record = Mapping[str, Any]
type Image = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Following:
    table: ImportsTable
    machines: Machines

    def follow(self, records: Sequence[Record], at: datetime) -> dict[str, Any]:
        """Start imports, count batches, and answer the tokens of children that have ended.

        A failure of one import lets all records come again.

        Returns {"batchItemFailures": [...]}. Doing it again changes nothing.
        """
        new = [record["dynamodb"]["NewImage"] for record in records if record.get("eventName") == "INSERT"]
        for image in new:
            if _kind(image) == "import" and image["processing_mode"]["S"] == STEP_FUNCTION:
                self.machines.start(Import.of(image))
        counted: dict[ImportKey, list[tuple[int, Mapping[str, int]]]] = {}
        for image in new:
            if _kind(image) == "batch" and "barred" not in image:
                batch = BatchRecord.of(image)
                counted.setdefault(_key(image), []).append((batch.first_row, batch.counts))
        for key, batches in counted.items():
            for start in range(0, len(batches), _AT_ONCE):
                self.table.count(key, batches[start : start + _AT_ONCE], at)
        for record in records:
            if record.get("eventName") == "MODIFY":
                Children(ZipRows(self.table), self.machines).answer(record["dynamodb"]["NewImage"])
        return {"batchItemFailures": []}


def _kind(image: Image) -> str:
    return str(image["kind"]["S"])


def _key(image: Image) -> ImportKey:
    """Of the import that a batch belongs to."""
    tenant_code, import_id = image["pk"]["S"].partition("#")[2], image["sk"]["S"].split("#")[1]
    return ImportKey(tenant_code, import_id)
