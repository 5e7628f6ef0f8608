"""All access to ImportsTable.

A ZIP's counters move with those of its children. Its row also counts the children: a child is created in one
transaction with that count, and the ZIP ends on the condition that it has not moved. So no child comes into being
after the ZIP's counters were computed.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import batched
from typing import Any

from idempotency.dynamodb import Action
from runtime.table import NEW, Table, Values

from .errors import ImportCutOff
from .state import (
    CHILDREN,
    ENTRIES,
    OPEN_SINCE,
    TOKENS,
    TOTALS,
    BatchRecord,
    Import,
    ImportKey,
    Status,
    ended_tokens,
    moves_of,
)

_UNTIL_END = (OPEN_SINCE, "decided")
_OPEN = "attribute_exists(#open_since)"
_NOT_DECIDED = f"{_OPEN} AND attribute_not_exists(#decided)"
_NOT_LOADED = f"{_NOT_DECIDED} AND attribute_not_exists(#columns)"
# A ZIP that is open has an error if unzip refused it.
_NOT_REFUSED = "attribute_not_exists(#error)"
_BARRED = "#barred = :barred AND size(#outcomes) = :none"
# Results are written within hours, and a Map Run can be redriven for 14 days. Retries need the records of rows only.
_BATCH_LIFETIME = timedelta(days=30)
# A batch record has up to 100 outcomes, and a page of the query is held in memory.
_PAGE = 40
_MAX_READ = 100


@dataclass(frozen=True, slots=True)
class ImportsTable(Table):
    def find(self, key: ImportKey) -> Import | None:
        """The row of an import, read consistently."""
        row = self.row(key.row)
        return Import.of(row) if row else None

    def known(self, key: ImportKey) -> Import:
        """As `find`. Raises ImportCutOff if there is no such import."""
        found = self.find(key)
        if found is None:
            raise ImportCutOff(f"{key.import_id}: no such import")
        return found

    def open(self) -> Iterator[Import]:
        """The imports that have not ended, as the index has them, which may be late."""
        return map(Import.of, self.read_index(OPEN_SINCE))

    def create(self, new: Import, tip: str | None = None) -> Import | None:
        """Write the row of a new import.

        tip: for a retry, the newest import of the chain, which it follows. Returns the import that has this id, new or
        not; None if the chain has another tip meanwhile.
        """
        actions = [self.put_action(new.values, NEW)]
        if tip is not None:
            actions.append(self._follows(new, tip))
        cancelled = self.transact(actions)
        if cancelled is None:
            return new
        return Import.of(cancelled.refusals[0].item or {}) if 0 in cancelled.refusals else None

    def _follows(self, new: Import, tip: str) -> Action:
        """The chain's first import names its newest one."""
        head = ImportKey(new.key.tenant_code, new.first)
        condition = "#tip = :seen" if tip != new.first else "attribute_exists(#pk) AND attribute_not_exists(#tip)"
        return self.update_action(head.row, condition, {"tip": new.key.import_id}, values={"seen": tip})

    def loaded(self, key: ImportKey, values: Mapping[str, Any], at: datetime) -> bool:
        """Note what the loader or unzip found, once, unless the import has ended: a late one must not set it back."""
        assign = {**values, "status": Status.PROCESSING, "updated_at": at.isoformat()}
        condition = f"{_NOT_LOADED} AND attribute_not_exists(#entries) AND {_NOT_REFUSED}"
        moves = {name: values.get(name, 0) for name in TOTALS}
        return self._move(key, condition, assign, moves, at)

    # The end

    def stop(self, key: ImportKey, by: str, at: datetime) -> bool:
        """Note that an import is to be stopped, unless it has ended."""
        return self.update(key.row, _OPEN, {"stopped_by": by, "updated_at": at.isoformat()})

    def decide(self, key: ImportKey, end: Mapping[str, Any], at: datetime, *, refused: bool) -> bool:
        """Note how an import ends, once. end: as `Import.decided`. refused: only if no call has loaded the file."""
        allowed = _NOT_LOADED if refused else _NOT_DECIDED
        return self.update(key.row, allowed, {"decided": end, "updated_at": at.isoformat()})

    def end(
        self, key: ImportKey, status: Status, values: Mapping[str, Any], at: datetime, *, refused: bool = False
    ) -> bool:
        """Set the final status and what belongs to it, once. refused: only if no call has loaded the file."""
        assign = {**values, **_end(status, at)}
        allowed = _NOT_LOADED if refused else _OPEN
        if key.parent is None:
            return self.update(key.row, allowed, assign, remove=_UNTIL_END)
        # Apply the recount's corrections to the ZIP, too, unless batches were counted in the meantime.
        while (found := self.find(key)) and not found.final and not (refused and (found.loaded or found.decided)):
            moves = {name: values.get(name, found.values[name]) - found.values[name] for name in TOTALS}
            seen = {f"seen_{name}": found.values[name] for name in TOTALS}
            condition = " AND ".join([allowed, *(f"#{name} = :seen_{name}" for name in TOTALS)])
            if self._move(key, condition, assign, moves, at, remove=_UNTIL_END, values=seen):
                return True
        return False

    # Batches

    def with_batch(self, key: ImportKey, first_row: int) -> tuple[Import | None, BatchRecord | None]:
        """An import and the record of one of its batches, in one call."""
        found, batch = self.rows(key.row, key.batch(first_row))
        return (Import.of(found) if found else None), (BatchRecord.of(batch) if batch else None)

    def batches(self, key: ImportKey) -> Iterator[BatchRecord]:
        """The records of an import's batches, in the order of the file, read consistently."""
        return map(BatchRecord.of, self.read_partition(key.pk, key.batches, page=_PAGE))

    def record(self, key: ImportKey, batch: BatchRecord, at: datetime) -> bool:
        """Write the record of a batch, unless there is one."""
        return self.put(_batch(key, batch, at)).applied

    def complete_barred(self, key: ImportKey, batch: BatchRecord, at: datetime) -> bool:
        """Complete the record of a batch that was barred, once: later, a retry may have decided its rows."""
        return self.put(_batch(key, batch, at), _BARRED, {"barred": True, "none": 0}).applied

    def not_barred(self, key: ImportKey, first_row: int) -> Action:
        """The batch is not barred."""
        return self.check_action(key.batch(first_row), "attribute_not_exists(#barred)")

    def count(self, key: ImportKey, batches: Sequence[tuple[int, Mapping[str, int]]], at: datetime) -> None:
        """Add batches to the counters, each once, in one transaction.

        batches: first row and counts of each, up to 98. Raises Contention, StoreUnavailable.
        """
        left = dict(batches)
        while left:
            numbers = list(left)
            moves = moves_of(left.values())
            rows = [self._added(key, moves, at), *([self._added(key.parent, moves, at)] if key.parent else [])]
            cancelled = self.transact([*rows, *(self._mark(key, number, at) for number in numbers)])
            # After the end, the counters are those of the recount.
            if cancelled is None or min(cancelled.refusals) < len(rows):
                return
            for index in cancelled.refusals:
                del left[numbers[index - len(rows)]]

    def _added(self, key: ImportKey, moves: Mapping[str, int], at: datetime) -> Action:
        """Counters of an open import move."""
        computed = {name: f"#{name} + :{name}" for name in moves}
        return self.update_action(key.row, _OPEN, {"updated_at": at.isoformat()}, computed=computed, values=moves)

    def _move(
        self, key: ImportKey, condition: str, assign: Values, moves: Mapping[str, int], at: datetime, **more: Any
    ) -> bool:
        """Update the row of an import, and with a child's counters those of its ZIP. Raises ImportCutOff.

        more: as for `Table.update`.
        """
        if key.parent is None or not any(moves.values()):
            return self.update(key.row, condition, assign, **more)
        change = self.update_action(key.row, condition, assign, **more)
        cancelled = self.transact([change, self._added(key.parent, moves, at)])
        if cancelled and 0 not in cancelled.refusals:
            raise ImportCutOff(f"{key.parent.import_id}: the ZIP has ended before its child")
        return cancelled is None

    def _mark(self, key: ImportKey, first_row: int, at: datetime) -> Action:
        condition = "attribute_exists(#pk) AND attribute_not_exists(#counted_at)"
        return self.update_action(key.batch(first_row), condition, {"counted_at": at.isoformat()})

    # ZIPs and their children

    def add_child(self, parent: Import, child: Import, at: datetime) -> bool:
        """Create a child, unless it exists. Returns False if the ZIP has ended or was stopped: there is no child."""
        counted = self.update_action(
            parent.key.row,
            f"{_OPEN} AND attribute_not_exists(#stopped_by)",
            {"updated_at": at.isoformat()},
            computed={CHILDREN: f"#{CHILDREN} + :one"},
            values={"one": 1},
        )
        cancelled = self.transact([self.put_action(child.values, NEW), counted])
        return cancelled is None or 0 in cancelled.refusals

    def children(self, parent: Import) -> dict[int, Import]:
        """The children by the number of their entry, read consistently. Raises StoreUnavailable."""
        found: dict[int, Import] = {}
        for numbers in batched(range(1, parent.values.get(ENTRIES, 0) + 1), _MAX_READ, strict=False):
            rows = self.rows(*(parent.key.child(number).row for number in numbers))
            found |= {number: Import.of(row) for number, row in zip(numbers, rows, strict=True) if row}
        return found

    def park(self, child: ImportKey, token: str) -> bool:
        """Keep a token until the child has ended. Returns False if it has ended: its results are stored."""
        return self.update(child.row, _OPEN, add={TOKENS: "token"}, values={"token": frozenset({token})})

    def tokens(self, keys: Sequence[ImportKey]) -> dict[ImportKey, frozenset[str]]:
        """The tokens of children that have ended. They are read here, and in the stream, only."""
        found: dict[ImportKey, frozenset[str]] = {}
        for some in batched(keys, _MAX_READ, strict=False):
            rows = zip(some, self.rows(*(key.row for key in some)), strict=True)
            found |= {key: tokens for key, row in rows if row and (tokens := ended_tokens(row))}
        return found

    def forget(self, child: ImportKey, tokens: frozenset[str]) -> None:
        """Drop tokens that were answered. A newer one stays."""
        self.update(child.row, "attribute_exists(#pk)", delete={TOKENS: "answered"}, values={"answered": tokens})

    def refuse_zip(self, parent: Import, error: Any, at: datetime) -> bool:
        """End a ZIP without entries, unless it has ended. Returns False if it was unzipped since `parent` was read."""
        allowed = f"{_OPEN} AND attribute_not_exists(#{ENTRIES})"
        if "error" not in parent.values:
            allowed += f" AND {_NOT_REFUSED}"
        if self.update(parent.key.row, allowed, {**_end(Status.FAILED, at), "error": error}, remove=[OPEN_SINCE]):
            return True
        return self.known(parent.key).final

    def end_zip(self, parent: Import, children: Mapping[int, Import], status: Status, error: Any, at: datetime) -> bool:
        """Set the ZIP's final status and counters, if no child was created since `children` was read."""
        totals: Counter[str] = Counter()
        for child in children.values():
            totals.update({name: child.values.get(name) or 0 for name in TOTALS})
        assign = {**{name: totals[name] for name in TOTALS}, **_end(status, at), **({"error": error} if error else {})}
        condition = f"{_OPEN} AND #{CHILDREN} = :seen"
        return self.update(parent.key.row, condition, assign, remove=[OPEN_SINCE], values={"seen": len(children)})


def _end(status: Status, at: datetime) -> dict[str, Any]:
    return {"updated_at": at.isoformat(), "ended_at": at.isoformat(), "status": status}


def _batch(key: ImportKey, batch: BatchRecord, at: datetime) -> dict[str, Any]:
    times = {"created_at": at.isoformat(), "expires_at": int((at + _BATCH_LIFETIME).timestamp())}
    return {**key.batch(batch.first_row), **batch.values, **times}
