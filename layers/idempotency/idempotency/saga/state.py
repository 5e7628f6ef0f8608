"""State of one saga: the rows of its steps, their records, and the leases of outside work."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from idempotency.dynamodb import LeaseClient
from idempotency.errors import StoreUnavailable
from idempotency.records import Status
from idempotency.steps import COMMITTED, COMPENSATED, COMPENSATING

from .definition import Saga
from .step import Item, SagaStep

# Statuses of a lease under which nothing can have happened outside.
_NO_EFFECT = frozenset({None, Status.FAILED, Status.RELEASED})


@dataclass(frozen=True, slots=True)
class SagaState:
    """State of one saga.

    rows, records, leases: by name of the step, in DynamoDB's own JSON; None if missing.
    leases_forgotten: whether the leases' records may have expired, so that their absence proves nothing.
    """

    saga: Saga
    rows: Mapping[str, Item | None]
    records: Mapping[str, Item | None]
    leases: Mapping[str, Item | None]
    leases_forgotten: bool = False

    @property
    def row(self) -> Item | None:
        """The saga's own row, which is the row of its first step."""
        return self.rows[self.saga.first.name]

    @property
    def status(self) -> str | None:
        """Status of the saga's row; None if there is none."""
        return str(self.row["status"]["S"]) if self.row else None

    @property
    def confirmed(self) -> bool:
        """True if the saga has succeeded, which is final: by its row, or, if the row is lost, by a sealed record."""
        return self.status == self.saga.confirmed or any(
            "sealed_at" in record for record in self.records.values() if record
        )

    @property
    def untouched(self) -> bool:
        """True if no step was ever called."""
        return not any([*self.rows.values(), *self.records.values(), *self.leases.values()])

    @property
    def lost(self) -> list[SagaStep]:
        """Steps whose effect exists, but whose record is gone."""
        return [
            step
            for step in self.saga.deployed
            if self.record_status(step) is None and step.is_standing(self.rows[step.name])
        ]

    @property
    def compensated(self) -> bool:
        """True if a compensation of any step has begun."""
        return any(self.record_status(step) in (COMPENSATED, COMPENSATING) for step in self.saga.all_steps)

    @property
    def all_standing(self) -> bool:
        """True if the effects of all steps exist."""
        return all(step.is_standing(self.rows[step.name]) for step in self.saga.all_steps)

    @property
    def standing(self) -> set[str]:
        """Names of the steps whose effects stand, or may stand outside."""
        return {step.name for step in self.saga.deployed if self._stands(step)}

    @property
    def noted(self) -> frozenset[str]:
        """Names of the steps that stand according to the saga's row, which outlives all records."""
        return frozenset((self.row or {}).get("standing", {}).get("SS", ()))

    @property
    def unbarred(self) -> list[SagaStep]:
        """Steps that have not happened, and that no record bars."""
        return [step for step in self.saga.deployed if self.record_status(step) is None and not self._stands(step)]

    def record_status(self, step: SagaStep) -> str | None:
        """Status of the step's record; None if there is none."""
        return _status(self.records[step.name])

    def lease_status(self, step: SagaStep) -> str | None:
        """Status of the step's lease; None if there is none."""
        return _status(self.leases.get(step.name))

    def may_begin_outside(self, step: SagaStep) -> bool:
        """True if the step's lease is free, so that a call in flight could still begin."""
        return bool(step.outside) and self.lease_status(step) in (None, Status.RELEASED)

    def _stands(self, step: SagaStep) -> bool:
        record, row = self.record_status(step), self.rows[step.name]
        # The row is authoritative: if the step is undone, its external effect is undone, too.
        if row is not None and not step.is_standing(row):
            return False
        if step.outside and self._may_stand_outside(step, record):
            return True
        return row is not None or record in (COMMITTED, COMPENSATING)

    def _may_stand_outside(self, step: SagaStep, record: str | None) -> bool:
        lease = self.lease_status(step)
        forgotten = self.leases_forgotten or step.name in self.noted
        return (forgotten and lease is None and record is None) or may_stand_outside(lease, record)


def may_stand_outside(lease: str | None, record: str | None) -> bool:
    """True if an outside system may hold an effect that the step does not show. lease, record: their statuses."""
    return record == COMPENSATING or (lease not in _NO_EFFECT and record != COMPENSATED)


def _status(item: Item | None) -> str | None:
    return str(item["status"]["S"]) if item else None


@dataclass(frozen=True, slots=True)
class SagaReader:
    """Reads the state of a saga.

    tables: maps the steps' logical ids to table names. records: the table of records and leases.
    """

    saga: Saga
    client: LeaseClient
    tables: Mapping[str, str]
    records: str

    def table(self, step: SagaStep) -> str:
        """Physical name of the table that has the step's row."""
        return self.tables[step.table]

    def read(self, saga_id: str) -> SagaState:
        """Read everything, consistently, in one call. Raises StoreUnavailable, or as the client."""
        steps, wanted = self.saga.deployed, dict[str, Any]()
        names = [*(step.name for step in steps), *(step.outside for step in self.saga.leases)]
        self._want(wanted, self.records, *({"pk": f"{saga_id}#{name}"} for name in names))
        for step in steps:
            self._want(wanted, self.table(step), step.row_key(saga_id))
        answer = self.client.batch_get_item(RequestItems=wanted)
        if answer.get("UnprocessedKeys"):
            raise StoreUnavailable("DynamoDB did not answer for all rows")
        found = answer["Responses"]

        def item(table: str, key: Mapping[str, str]) -> Item | None:
            ((name, value),) = key.items()
            return next((one for one in found.get(table, []) if one[name]["S"] == value), None)

        return SagaState(
            self.saga,
            {step.name: item(self.table(step), step.row_key(saga_id)) for step in steps},
            {step.name: item(self.records, {"pk": f"{saga_id}#{step.name}"}) for step in steps},
            {step.name: item(self.records, {"pk": f"{saga_id}#{step.outside}"}) for step in self.saga.leases},
        )

    def _want(self, wanted: dict[str, Any], table: str, *keys: Mapping[str, str]) -> None:
        of_table = wanted.setdefault(table, {"Keys": [], "ConsistentRead": True})
        of_table["Keys"].extend({name: {"S": value} for name, value in key.items()} for key in keys)
