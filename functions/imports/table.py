"""All access to ImportsTable."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from idempotency.codec import Item, to_value
from idempotency.dynamodb import Action, put, read_rows, update
from idempotency.expressions import condition_check, conditional_put, conditional_update
from runtime.backoff import until_decided, written

from .batch_record import BatchRecord, moves_of
from .errors import ImportCutOff
from .keys import ImportKey
from .state import TOTALS, Import, Status

OPEN_SINCE = "open_since"
"""Attribute, and sparse index, of the imports that have not ended."""
_UNTIL_END = (OPEN_SINCE, "decided")
_NEW = "attribute_not_exists(#pk)"
_OPEN = "attribute_exists(#open_since)"
_NOT_DECIDED = f"{_OPEN} AND attribute_not_exists(#decided)"
_NOT_LOADED = f"{_NOT_DECIDED} AND attribute_not_exists(#columns)"
# A ZIP that is open has an error if unzip refused it.
_NOT_REFUSED = "attribute_not_exists(#error)"
# Results are written within hours, and a Map Run can be redriven for 14 days. Retries need the records of rows only.
_BATCH_LIFETIME = timedelta(days=30)
# A batch record has up to 100 outcomes, and a page of the query is held in memory.
_PAGE = 40


@dataclass(frozen=True, slots=True)
class ImportsTable:
    """client: a `boto3.client("dynamodb")`. name: of the table."""

    client: Any
    name: str

    def find(self, key: ImportKey) -> Import | None:
        """The row of an import, read consistently."""
        (item,) = read_rows(self.client, [(self.name, key.row)])
        return Import.of(item) if item else None

    def known(self, key: ImportKey) -> Import:
        """As `find`. Raises ImportCutOff if there is no such import."""
        found = self.find(key)
        if found is None:
            raise ImportCutOff(f"{key.import_id}: no such import")
        return found

    def with_batch(self, key: ImportKey, first_row: int) -> tuple[Import | None, BatchRecord | None]:
        """An import and the record of one of its batches, in one call."""
        found, batch = read_rows(self.client, [(self.name, key.row), (self.name, key.batch(first_row))])
        return (Import.of(found) if found else None), (BatchRecord.of(batch) if batch else None)

    def create(self, made: Import, tip: str | None = None) -> Import | None:
        """Write the row of a new import.

        tip: for a retry, the newest import of the chain, which it follows. Returns the import that has this id, new or
        not; None if the chain has another tip meanwhile.
        """
        put_row = conditional_put(self.name, {}, _NEW, {})
        actions: list[Action] = [{"Put": {**put_row, "Item": _item(made.values)}}]
        if tip is not None:
            actions.append(self._follows(made, tip))
        cancelled = written(self.client, actions)
        if cancelled is None:
            return made
        return Import.of(cancelled.refusals[0].item or {}) if 0 in cancelled.refusals else None

    def loaded(self, key: ImportKey, values: Mapping[str, Any], at: datetime) -> bool:
        """Note what the loader or unzip found, once, unless the import has ended: a late one must not set it back."""
        assign = {**values, "status": Status.PROCESSING, "updated_at": at.isoformat()}
        condition = f"{_NOT_LOADED} AND attribute_not_exists(#entries) AND {_NOT_REFUSED}"
        moves = {name: values.get(name, 0) for name in TOTALS}
        return self._move(key, conditional_update(self.name, key.row, condition=condition, assign=assign), moves, at)

    def stop(self, key: ImportKey, by: str, at: datetime) -> bool:
        """Note that an import is to be stopped, unless it has ended."""
        return self._update(key.row, _OPEN, {"stopped_by": by, "updated_at": at.isoformat()})

    def decide(self, key: ImportKey, end: Mapping[str, Any], at: datetime, *, refused: bool) -> bool:
        """Note how an import ends, once. end: as `Import.decided`. refused: only if no call has loaded the file."""
        allowed = _NOT_LOADED if refused else _NOT_DECIDED
        return self._update(key.row, allowed, {"decided": end, "updated_at": at.isoformat()})

    def end(
        self, key: ImportKey, status: Status, values: Mapping[str, Any], at: datetime, *, refused: bool = False
    ) -> bool:
        """Set the final status and what belongs to it, once. refused: only if no call has loaded the file."""
        times = {"updated_at": at.isoformat(), "ended_at": at.isoformat()}
        assign = {**values, **times, "status": status}
        allowed = _NOT_LOADED if refused else _OPEN
        if key.parent is None:
            return self._update(key.row, allowed, assign, remove=_UNTIL_END)
        # What the recount corrects is corrected in the ZIP, too, unless batches were counted meanwhile.
        while (made := self.find(key)) and not made.status.final and not (refused and (made.loaded or made.decided)):
            moves = {name: values.get(name, made.values[name]) - made.values[name] for name in TOTALS}
            seen = {f"seen_{name}": made.values[name] for name in TOTALS}
            condition = " AND ".join([allowed, *(f"#{name} = :seen_{name}" for name in TOTALS)])
            own = conditional_update(
                self.name, key.row, condition=condition, assign=assign, remove=_UNTIL_END, values=seen
            )
            if self._move(key, own, moves, at):
                return True
        return False

    def record(self, key: ImportKey, batch: BatchRecord, at: datetime) -> bool:
        """Write the record of a batch, unless there is one."""
        parameters = {**conditional_put(self.name, {}, _NEW, {}), "Item": _batch(key, batch, at)}
        return until_decided(lambda: put(self.client, parameters)).applied

    def complete_barred(self, key: ImportKey, batch: BatchRecord, at: datetime) -> bool:
        """Complete the record of a batch that was barred, once: later, a retry may have decided its rows."""
        condition = conditional_put(
            self.name, {}, "#barred = :barred AND size(#outcomes) = :none", {"barred": True, "none": 0}
        )
        return until_decided(lambda: put(self.client, {**condition, "Item": _batch(key, batch, at)})).applied

    def not_barred(self, key: ImportKey, first_row: int) -> Action:
        """The batch is not barred."""
        return {"ConditionCheck": condition_check(self.name, key.batch(first_row), "attribute_not_exists(#barred)", {})}

    def batches(self, key: ImportKey) -> Iterator[BatchRecord]:
        """The records of an import's batches, in the order of the file, read consistently."""
        pages = self.client.get_paginator("query").paginate(
            TableName=self.name,
            KeyConditionExpression="#pk = :pk AND begins_with(#sk, :prefix)",
            ExpressionAttributeNames={"#pk": "pk", "#sk": "sk"},
            ExpressionAttributeValues={":pk": {"S": key.pk}, ":prefix": {"S": key.batches}},
            ConsistentRead=True,
            PaginationConfig={"PageSize": _PAGE},
        )
        for page in pages:
            yield from map(BatchRecord.of, page["Items"])

    def open(self) -> Iterator[Import]:
        """The imports that have not ended, as the index has them, which may be late."""
        for page in self.client.get_paginator("scan").paginate(TableName=self.name, IndexName=OPEN_SINCE):
            yield from map(Import.of, page["Items"])

    def count(self, key: ImportKey, batches: Sequence[tuple[int, Mapping[str, int]]], at: datetime) -> None:
        """Add batches to the counters, each once, in one transaction.

        batches: first row and counts of each, up to 98. Raises Contention, StoreUnavailable.
        """
        left = dict(batches)
        while left:
            numbers = list(left)
            moves = moves_of(left.values())
            rows = [self._added(key, moves, at), *([self._added(key.parent, moves, at)] if key.parent else [])]
            cancelled = written(self.client, [*rows, *(self._mark(key, one, at) for one in numbers)])
            # After the end, the counters are those of the recount.
            if cancelled is None or min(cancelled.refusals) < len(rows):
                return
            for index in cancelled.refusals:
                del left[numbers[index - len(rows)]]

    def _added(self, key: ImportKey, moves: Mapping[str, int], at: datetime) -> Action:
        """Counters of an open import move."""
        parameters = conditional_update(
            self.name,
            key.row,
            condition=_OPEN,
            assign={"updated_at": at.isoformat()},
            computed={name: f"#{name} + :{name}" for name in moves},
            values=moves,
        )
        return {"Update": parameters}

    def _move(self, key: ImportKey, own: Mapping[str, Any], moves: Mapping[str, int], at: datetime) -> bool:
        """Update the row of an import, and with a child's counters those of its ZIP. Raises ImportCutOff."""
        if key.parent is None or not any(moves.values()):
            return until_decided(lambda: update(self.client, own)).applied
        cancelled = written(self.client, [{"Update": own}, self._added(key.parent, moves, at)])
        if cancelled and 0 not in cancelled.refusals:
            raise ImportCutOff(f"{key.parent.import_id}: the ZIP has ended before its child")
        return cancelled is None

    def _mark(self, key: ImportKey, first_row: int, at: datetime) -> Action:
        condition = "attribute_exists(#pk) AND attribute_not_exists(#counted_at)"
        assign = {"counted_at": at.isoformat()}
        return {"Update": conditional_update(self.name, key.batch(first_row), condition=condition, assign=assign)}

    def _follows(self, made: Import, tip: str) -> Action:
        """The chain's first import names its newest one."""
        head = ImportKey(made.key.tenant_code, made.first)
        condition = "#tip = :seen" if tip != made.first else "attribute_exists(#pk) AND attribute_not_exists(#tip)"
        assign = {"tip": made.key.import_id}
        return {
            "Update": conditional_update(self.name, head.row, condition=condition, assign=assign, values={"seen": tip})
        }

    def _update(
        self, key: Mapping[str, str], condition: str, assign: Mapping[str, Any], remove: Sequence[str] = ()
    ) -> bool:
        parameters = conditional_update(self.name, key, condition=condition, assign=assign, remove=remove)
        return until_decided(lambda: update(self.client, parameters)).applied


def _batch(key: ImportKey, batch: BatchRecord, at: datetime) -> Item:
    times = {"created_at": at.isoformat(), "expires_at": int((at + _BATCH_LIFETIME).timestamp())}
    return _item({**key.batch(batch.first_row), **batch.values, **times})


def _item(values: Mapping[str, Any]) -> Item:
    return {name: to_value(value, fractions=True) for name, value in values.items()}
