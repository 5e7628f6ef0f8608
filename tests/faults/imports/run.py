"""One run of a schedule: callers, other publishers, operators, the sweep, the stream and events."""

import csv
import io
import json
from dataclasses import dataclass, field
from typing import ClassVar

from ministack.services import s3

from entities.command import Attempt, Key
from tests.faults.actors.engine import Mapping
from tests.faults.imports import schedule as s
from tests.faults.imports.engine import OTHERS, PUBLISH
from tests.faults.imports.executing import Executing
from tests.faults.imports.invariants import ANSWERS
from tests.faults.imports.ledger import FINAL_STATUSES
from tests.faults.imports.plan import COLUMNS, PK, TENANT, TOO_LONG, File, Row, corrected, days
from tests.faults.seams import Document

_BATCH = 99
_FINAL_ERRORS = {"InvalidImport", "TooManyRows"}


@dataclass
class Run(Executing):
    """A run; hooks of the engine at each seam. files: by key. removed: keys. refused: refused retries."""

    RECORD_WEIGHT: ClassVar = 4

    files: dict[str, File] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)
    refused: int = 0
    _buffer: list[Document] = field(default_factory=list)
    _consuming: bool = False

    # Requests

    def first_requests(self) -> list[Document]:
        """Return the request of the first import, or two of one file at once."""
        name = f"first{self.plan.ending}"
        key = f"imports/{TENANT}/PRODUCT/{name}" if self.plan.uploaded else f"files/{name}"
        version = self.upload(key, self.plan.first)
        if self.plan.uploaded:
            detail = {"bucket": {"name": self.engine.bucket}, "object": {"key": key, "version-id": version}}
            return [{"detail-type": "Object Created", "source": "aws.s3", "detail": detail}] * (1 + self.plan.twice)
        request = {
            "tenant_code": TENANT,
            "key": key,
            "type": "PRODUCT",
            "options": self.plan.options,
            **({"processing_mode": self.plan.mode} if self.plan.mode else {}),
            **({"validate_only": True} if self.plan.validate_only else {}),
        }
        return [request] * (1 + self.plan.twice)

    def retry_requests(self, number: int) -> list[Document]:
        """Return a retry of an ended import: of the same file, or of a corrected result; perhaps two at once."""
        ended = [row for row in self.judge.imports.values() if row["status"] in FINAL_STATUSES]
        if not ended:
            return []
        earlier = ended[-1] if self.chance.random() < 0.75 else self.chance.choice(ended)
        request: Document = {"tenant_code": TENANT, "retry_of": earlier["import_id"]}
        if earlier.get("results") and self.chance.random() < 0.55:
            file = corrected(self.chance, self.plan.first, *self._rows_of(earlier))
            request["key"] = f"files/retry-{number}.csv"
            self.upload(request["key"], file)
        if self.chance.random() < 0.4:
            request["processing_mode"] = self.chance.choice(("DIRECT", "STEP_FUNCTION", "STEP_FUNCTION"))
        if self.chance.random() < 0.08:
            request["validate_only"] = True
        if self.chance.random() < 0.25:
            request["options"] = self.chance.choice(
                ({"duplicates": "last"}, {"duplicates": "refuse"}, {"all_or_nothing_validation": True})
            )
        return [request] * (2 if self.chance.random() < 0.2 else 1)

    def _rows_of(self, row: Document) -> tuple[list[Row], list[Row]]:
        """Return the rows of failed.csv and of unprocessed.csv."""
        found = self.judge.results[row["import_id"]]

        def rows(name: str, own: int) -> list[Row]:
            lines = list(csv.reader(io.StringIO(found[name] or "", newline="")))[1:]
            whole = [cells for cells in lines if len(cells) == own + len(COLUMNS)]
            return [Row(0 if cells[0] == TOO_LONG else int(cells[0] or 0), tuple(cells[own:])) for cells in whole]

        return rows("failed", 4), rows("unprocessed", 1)

    def upload(self, key: str, file: File) -> str:
        """Upload a file. Returns its version."""
        self.files[key] = file
        answer = s3._put_object(self.engine.bucket, key, file.text.encode(), {})
        return str(answer[1]["x-amz-version-id"])

    def file_of(self, row: Document) -> File:
        return self.files[row["key"]]

    def first_file(self, _: str) -> File:
        """Return the first file of a chain of imports."""
        return self.plan.first

    def is_refused_whole(self, import_id: str) -> bool:
        """True if the check of the whole file may refuse it."""
        row = self.judge.imports[import_id]
        if not row["options"].get("all_or_nothing_validation"):
            return False
        if not self.is_readable(row):
            return True
        file = self.file_of(row)
        wrong = file.wrong(row["options"].get("duplicates") == "last")
        return any(self._is_wrong(row, one, why) for one, why in zip(file.rows, wrong, strict=True))

    def is_cut_short(self, row: Document) -> bool:
        """True if an operator stopped the import, or its options may reject all of its rows."""
        return "stopped_by" in row or self.is_refused_whole(row["import_id"])

    def _is_wrong(self, row: Document, one: Row, why: str) -> bool:
        """True if a row makes the check of the whole file fail. Stored rows are valid."""
        if one.number and one.sk != self.judge.key_before(row["first_import_id"], one.number):
            return True
        record = self.judge.record(row, one.number)
        return bool(why) and not (record and record["status"] == "COMMITTED")

    def ask(self, request: Document) -> None:
        """Call CreateImport until its response is final."""
        for number in range(3):
            answer = self.invoke("CreateImportFunction", request, "CreateImport")
            if not answer.get("error"):
                return
            error, message = answer["body"]["errorType"], answer["body"]["errorMessage"]
            if error in _FINAL_ERRORS:
                self.refused += 1
                if not message.startswith("retry_of: ") and not (self.removed and message.startswith("key: ")):
                    self.judge.broken(ANSWERS, f"{error}: {message}")
                return
            self.simulation.sleep(self.chance.uniform(1, 60) * (number + 1))

    # Others.

    def stop_import(self) -> None:
        """Stop a running import, or something else, as an operator."""
        if rows := list(self.judge.imports):
            request = {"tenant_code": TENANT, "import_id": self.later.choice(rows), "by": "operator"}
            self.invoke("StopImportFunction", request, "StopImport")

    def remove(self) -> None:
        """Remove a file, and with it what an import can read again."""
        if keys := [key for key in self.files if key not in self.removed]:
            key = self.later.choice(keys)
            self.removed.add(key)
            s3._buckets[self.engine.bucket]["objects"].pop(key, None)
            s3._object_versions.pop((self.engine.bucket, key), None)

    def is_readable(self, row: Document) -> bool:
        """True if the files of an import, and of the first of its chain, still exist."""
        first = self.judge.imports.get(row["first_import_id"], row)
        return self.removed.isdisjoint({row["key"], first["key"]})

    def stray(self) -> None:
        """Start an execution under an arbitrary name for an import, perhaps a running one."""
        if rows := list(self.judge.imports):
            self.counts["stray"] += 1
            document = {"tenant_code": TENANT, "import_id": self.later.choice(rows)}
            self.engine.start_by_hand(f"stray-{self.counts['stray']}", document)

    def sweep(self) -> None:
        self.invoke("SweepImportsFunction", {"source": "aws.events"}, "SweepImports")

    def known(self) -> None:
        """Publish some keys beforehand, half of them as the file has them."""
        for row in self.plan.first.rows[: self.plan.known]:
            self._publish(row, "sync", self.chance.random() < 0.5)

    def other(self) -> None:
        """Publish a key of the file, as another publisher whose execution runs for a while."""
        if self.plan.first.rows:
            row = self.later.choice(self.plan.first.rows)
            mode = self.later.choice(("sync", "async", "async"))
            version = self._publish(row, mode, self.later.random() < 0.3)
            if mode == "async" and version:
                self.simulation.sleep(self.later.choice((0.5, 3, 30, 600)))
                self._finish(row, version)

    def _publish(self, row: Row, mode: str, same: bool) -> int:
        cells = dict(zip(COLUMNS, row.cells, strict=True))
        self.counts["other"] += 1
        number = self.counts["other"]
        attributes = {"category": "tea", "price": 100 + row.number if same else number, "currency": "JPY"}
        document = {
            "pk": PK,
            "sk": row.sk,
            "tenant_code": TENANT,
            "id": f"id-{number}",
            "code": cells["code"],
            "name": cells["name"] if same and cells["name"] else f"Other {number}",
            "type": "PRODUCT",
            "mode": mode,
            "request_id": f"request-{number}",
            "attributes": attributes,
        }
        answer = self.invoke(PUBLISH, document, "PublishCommand")
        return 0 if answer.get("error") else int(answer["body"]["version"])

    def _finish(self, row: Row, version: int) -> None:
        own = Attempt(Key(PK, row.sk), version, 1)
        for name in OTHERS:
            task = {"pk": PK, "sk": row.sk, "version": version, "attempt": 1, "execution": own.name}
            if self.invoke(f"{name}Function", task, name).get("error"):
                return

    def meanwhile(self, kind: str) -> None:
        works = {
            s.STOP_AT: self.stop_import,
            s.SWEEP_AT: self.sweep,
            s.OTHER_AT: self.other,
            s.REMOVED_AT: self.remove,
            s.STRAY_AT: self.stray,
        }
        if work := works.get(kind):
            self.spawn(work, bare=True)

    # Stream and events.

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """Note a written row; its transaction may still be running."""
        self.judge.wrote(table.removeprefix(self.engine.stack.prefix), old, new)

    def carried_out(self, *_: object) -> None:
        self.judge.moment()
        self.stream()

    def deliver(self, mapping: Mapping, record: Document) -> None:
        """Let one consumer take the records that have arrived, a batch at a time."""
        self._buffer.append(record)
        if self._consuming:
            return
        self._consuming = True
        while self._buffer:
            batch, self._buffer = self._buffer[:_BATCH], self._buffer[_BATCH:]
            self.taken(mapping, batch)
        self._consuming = False

    def status_changed(self, event: Document) -> None:
        detail = json.loads(event["Detail"])
        if detail["status"] == "RUNNING":
            return
        label = self.label(detail["name"])
        self.say(f"execution {label} {detail['status']}")
        self.may_be_redriven(detail, label)
        self.tell("ZipEnded" if detail["stateMachineArn"].endswith("ImportZip") else "ImportEnded", label, event)

    def days(self) -> float:
        return days(self.chance)
