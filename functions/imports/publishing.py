"""A batch of rows: a transaction for each row, and one record.

A row is one command in sync mode, as one step. The step's record alone decides the row's outcome.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import batched
from typing import Any

from entities.command import Command, Key
from entities.errors import AttributesTooLarge, InvalidCommand, PendingCommand, StaleCommand
from entities.publish import Publication, next_version
from entities.state import Gate
from entities.types import Types
from idempotency import Contention, Decided, RoundStore, StateConflict, Step, StoreUnavailable, TransientError
from idempotency.codec import Item, from_value
from idempotency.dynamodb import Action, read_rows
from idempotency.expressions import condition_check
from runtime.backoff import pause

from . import codes
from .columns import CODE_COLUMN, ImportType
from .errors import BatchUnfinished, ImportCutOff
from .files import Contents
from .layout import Refusal, Row
from .loading import Marks
from .requests import Pointer
from .state import CREATED, UNCHANGED, UPDATED, BatchRecord, Import, Outcome
from .table import ImportsTable

_TRIES = 3
MOVED = Refusal(codes.NOT_ALLOWED, CODE_COLUMN)
# Three rows of the tables for each, and a call reads 100.
_AT_ONCE = 33


@dataclass(frozen=True, slots=True)
class Found:
    """The rows of tables that concern a row: its record, and gate and data of its key."""

    record: Decided | None
    gate: Gate | None
    data: Item | None


def has_moved(row: Row, record: Decided | None) -> bool:
    """Check whether a row has another key than before: than its record names, or if that names none, the first file."""
    before = record.result["sk"] if record else ""
    return bool(row.sk) and (row.sk != before if before else row.moved)


@dataclass(frozen=True, slots=True)
class Publisher:
    """Publishes the rows of one batch. not_barred: the check that belongs to every write. owner: who is calling."""

    import_: Import
    kind: ImportType
    publication: Publication
    records: RoundStore
    not_barred: Action
    owner: str
    at: datetime

    def found(self, rows: Sequence[Row]) -> list[Found]:
        """Read record, gate and data of each row, in three reads for a hundred rows. Raises StoreUnavailable."""
        return [found for some in batched(rows, _AT_ONCE, strict=False) for found in self._read(some)]

    def outcome(self, row: Row, found: Found, pointer: Pointer) -> Outcome:
        """Decide a row, or report what is decided. Raises ImportCutOff, Contention, StoreUnavailable."""
        decided = self._decided(row, found)
        result = decided.result
        if decided.committed:
            return Outcome(row.number, result["sk"], result["version"], result["effect"])
        return Outcome(row.number, "", 0, "", result["code"], result["column"], pointer.offset, pointer.length)

    def _decided(self, row: Row, found: Found) -> Decided:
        record, moved = found.record, has_moved(row, found.record)
        before = record.result["sk"] if record else ""
        refusal = MOVED if moved else row.refusal
        if refusal and (not row.number or (moved and record and record.committed)):
            # Every run of the batch finds the same reason.
            return self._refusal(refusal, before)
        if record and record.is_final(self.import_.round):
            return record
        if refusal:
            return self._refused(row, refusal, before or ("" if moved else row.sk))
        return self._published(row, found)

    def _published(self, row: Row, found: Found) -> Decided:
        code = codes.PENDING_COMMAND
        for number in range(1, _TRIES + 1):
            try:
                if number > 1:
                    (found,) = self.found([row])
                    if found.record and found.record.is_final(self.import_.round):
                        return found.record
                return self._once(row, found)
            except (Contention, StaleCommand):
                code = codes.PENDING_COMMAND
            except StoreUnavailable:
                code = codes.STORE_UNAVAILABLE
            except PendingCommand:
                break
            # The cells are valid: the whole document, or the history of the key, is at fault, and no column.
            except InvalidCommand:
                return self._refused(row, Refusal(codes.NOT_ALLOWED), row.sk)
            except AttributesTooLarge:
                return self._refused(row, Refusal(codes.OUT_OF_RANGE), row.sk)
            pause(number)
        if code == codes.PENDING_COMMAND and row.sk:
            # A gate that is older than the key's rows looks the same. Its key is listed.
            with suppress(StateConflict, TransientError):
                self.publication.gates.check(Key(self.import_.key.pk, row.sk), self.at)
        return self._refused(row, Refusal(code), row.sk)

    def _once(self, row: Row, found: Found) -> Decided:
        """Write the command, or only the record if it would change nothing."""
        data = found.data
        if data and self._is_unchanged(row, data):
            if found.gate and found.gate.pending:
                raise PendingCommand(row.sk)
            version, effect, writes = int(data["version"]["N"]), UNCHANGED, [self._still(row, data)]
        else:
            version = next_version(found.gate)
            effect = UPDATED if data and not data["deleted"]["BOOL"] else CREATED
            command = self._command(row, version, data)
            writes = self.publication.next_writes(command, found.gate, data, self.at)
        result = {"sk": row.sk, "version": version, "effect": effect}
        if self.import_.validated:
            return Decided(True, self.import_.round, result)
        return self._write(self.records.commit, row, writes, result)

    def _refused(self, row: Row, refusal: Refusal, sk: str) -> Decided:
        """Refuse the row in this round, if nothing is decided."""
        decided = self._refusal(refusal, sk)
        if self.import_.validated:
            return decided
        for number in range(1, _TRIES):
            try:
                return self._write(self.records.refuse, row, [], decided.result)
            except (Contention, StaleCommand, StoreUnavailable):
                pause(number)
        return self._write(self.records.refuse, row, [], decided.result)

    def _refusal(self, refusal: Refusal, sk: str) -> Decided:
        return Decided(False, self.import_.round, {"code": refusal.code, "column": refusal.column, "sk": sk})

    def _write(self, write: Any, row: Row, writes: Sequence[Action], result: Mapping[str, Any]) -> Decided:
        """Raises ImportCutOff if the batch is barred, StaleCommand if a row has changed since it was read."""
        step = Step(self.import_.first, str(row.number), {"sk": result["sk"]}, self.owner, self.at)
        try:
            decided: Decided = write(step, self.import_.round, [self.not_barred, *writes], result)
        except StateConflict as conflict:
            if any(refusal.index == 0 for refusal in conflict.refusals):
                raise ImportCutOff(f"{self.import_.key.import_id}: the batch is barred") from None
            raise StaleCommand(f"{row.sk}: was written meanwhile") from None
        return decided

    def _is_unchanged(self, row: Row, data: Item) -> bool:
        attributes = self.kind.normal(row.attributes or {})
        return (
            not data["deleted"]["BOOL"]
            and (data["type"]["S"], data["name"]["S"]) == (self.kind.name, row.name)
            and attributes is not None
            and attributes == self.kind.normal(from_value(data["attributes"]))
        )

    def _still(self, row: Row, data: Item) -> Action:
        """The data row is as it was read."""
        table, seen = self.publication.gates.tables.data, {"seen": int(data["version"]["N"])}
        return {
            "ConditionCheck": condition_check(table, Key(self.import_.key.pk, row.sk).row, "#version = :seen", seen)
        }

    def _command(self, row: Row, version: int, data: Item | None) -> Command:
        return Command(
            pk=self.import_.key.pk,
            sk=row.sk,
            id=data["id"]["S"] if data else row.code,
            code=row.code,
            name=row.name,
            type=self.kind.name,
            tenant_code=self.import_.key.tenant_code,
            attributes=dict(row.attributes or {}),
            version=version,
            mode="sync",
        )

    def _read(self, rows: Sequence[Row]) -> list[Found]:
        gates, tables = self.publication.gates, self.publication.gates.tables
        wanted: dict[tuple[str, str, str], Mapping[str, str]] = {}
        for row in rows:
            if row.number:
                wanted["record", "", self._record_key(row)] = {"pk": self._record_key(row)}
            if row.sk:
                for kind in ("gate", "data"):
                    wanted[kind, self.import_.key.pk, row.sk] = Key(self.import_.key.pk, row.sk).row
        names = {"record": self.records.table, "gate": tables.gates, "data": tables.data}
        if not wanted:
            return [Found(None, None, None) for _ in rows]
        items = read_rows(gates.client, [(names[kind], key) for (kind, _, _), key in wanted.items()])
        found = dict(zip(wanted, items, strict=True))
        return [self._found(row, found) for row in rows]

    def _found(self, row: Row, items: Mapping[tuple[str, str, str], Item | None]) -> Found:
        record = items.get(("record", "", self._record_key(row)))
        gate, data = (items.get((kind, self.import_.key.pk, row.sk)) for kind in ("gate", "data"))
        return Found(Decided.of(record) if record else None, Gate.of(gate) if gate else None, data)

    def _record_key(self, row: Row) -> str:
        return Step(self.import_.first, str(row.number), None, self.owner, self.at).key


@dataclass(frozen=True, slots=True)
class Batches:
    """Runs the batches of the Map, and those of a DIRECT import."""

    table: ImportsTable
    types: Types
    publication: Publication
    records: RoundStore

    def run(
        self,
        import_: Import,
        pointers: Sequence[Pointer],
        contents: Contents,
        marks: Marks,
        owner: str,
        at: datetime,
        time_left: Callable[[], bool],
    ) -> BatchRecord:
        """Decide every row, and write the batch's record; or return the record that there is.

        Raises ImportCutOff, BatchUnfinished, Contention, StoreUnavailable.
        """
        first = pointers[0].row
        current, record = self.table.with_batch(import_.key, first)
        if record and not record.barred:
            return record
        if record or current is None or current.stopped or current.final:
            raise ImportCutOff(f"{import_.key.import_id}: was stopped, or has ended")
        layout = import_.layout(self.types)
        rows = [layout.row(pointer.row, contents.get(pointer.offset), **marks.of(pointer.row)) for pointer in pointers]
        not_barred = self.table.not_barred(import_.key, first)
        publisher = Publisher(import_, layout.kind, self.publication, self.records, not_barred, owner, at)
        outcomes: list[Outcome] = []
        for row, found, pointer in zip(rows, publisher.found(rows), pointers, strict=True):
            if not time_left():
                raise BatchUnfinished(f"{import_.key.import_id}: {len(outcomes)} of {len(rows)} rows have an outcome")
            outcome = publisher.outcome(row, found, pointer)
            outcomes.append(_validated(outcome, found.record) if import_.validated else outcome)
        record = BatchRecord(first, len(rows), outcomes)
        self.table.record(import_.key, record, at)
        return record


def _validated(outcome: Outcome, record: Decided | None) -> Outcome:
    """A retry would leave a stored row unchanged."""
    return replace(outcome, effect=UNCHANGED) if outcome.succeeded and record and record.committed else outcome
