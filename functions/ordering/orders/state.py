"""What is known of an order once its saga has ended: the rows of its steps, and their records."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from idempotency import COMMITTED, COMPENSATED, COMPENSATING, Status, StoreUnavailable
from ordering.definition import CONFIRMED, PROCESS_ORDER, PROCESS_PAYMENT, STEP_NAMES, STEPS, SagaStep

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Item = Mapping[str, Any]

# Of a lease: nothing can have happened outside.
_NO_EFFECT = frozenset({None, Status.FAILED, Status.RELEASED})


@dataclass(frozen=True, slots=True)
class OrderState:
    """rows, records: by name of the step, in DynamoDB's own JSON; None where there is none. charge: the lease's record.

    charge_forgotten: whether the charge's lease may have expired, so that its absence proves nothing.
    """

    rows: Mapping[str, Item | None]
    records: Mapping[str, Item | None]
    charge: Item | None
    charge_forgotten: bool = False

    @property
    def order_status(self) -> str | None:
        """The status of the order's row, None if the order was never saved."""
        row = self.rows[PROCESS_ORDER.name]
        return row["status"]["S"] if row else None

    @property
    def confirmed(self) -> bool:
        """Whether the order has succeeded, which is final whatever its records say."""
        return self.order_status == CONFIRMED

    @property
    def untouched(self) -> bool:
        """Whether no step was ever called."""
        return not any([*self.rows.values(), *self.records.values(), self.charge])

    @property
    def lost(self) -> list[SagaStep]:
        """The steps whose effect is there, and whose record is gone."""
        return [step for step in STEPS if self.record_status(step) is None and step.is_standing(self.rows[step.name])]

    @property
    def compensated(self) -> bool:
        """Whether a compensation of any step has begun."""
        return any(self.record_status(step) in (COMPENSATED, COMPENSATING) for step in STEPS)

    @property
    def all_standing(self) -> bool:
        """Whether the effects of all steps are there."""
        return all(step.is_standing(self.rows[step.name]) for step in STEPS)

    @property
    def may_bar_charge(self) -> bool:
        """Whether the charge's lease is free, so that a call that is on its way could still begin."""
        return self.charge is None or self.charge["status"]["S"] == Status.RELEASED

    @property
    def standing(self) -> set[str]:
        """The names of the steps of which something stands, or may stand outside."""
        return {step.name for step in STEPS if self._stands(step)}

    @property
    def noted(self) -> frozenset[str]:
        """The names of the steps that stand by the order's row, which outlives all records."""
        row = self.rows[PROCESS_ORDER.name] or {}
        return frozenset(row.get("standing", {}).get("SS", ()))

    @property
    def unbarred(self) -> list[SagaStep]:
        """The steps that have not happened, and that no record bars."""
        return [step for step in STEPS if self.record_status(step) is None and not self._stands(step)]

    def record_status(self, step: SagaStep) -> str | None:
        """The status of the step's record, None if there is none."""
        record = self.records[step.name]
        return record["status"]["S"] if record else None

    def _stands(self, step: SagaStep) -> bool:
        record, row = self.record_status(step), self.rows[step.name]
        # A row is the last word: where it says that the step is undone, nothing is charged any more.
        if row is not None and not step.is_standing(row):
            return False
        if step is PROCESS_PAYMENT and self._may_be_charged(record):
            return True
        return row is not None or record in (COMMITTED, COMPENSATING)

    def _may_be_charged(self, payment: str | None) -> bool:
        charge = self.charge["status"]["S"] if self.charge else None
        forgotten = self.charge_forgotten or PROCESS_PAYMENT.name in self.noted
        return (forgotten and charge is None and payment is None) or may_be_charged(charge, payment)


def may_be_charged(charge: str | None, payment: str | None) -> bool:
    """Whether the gateway may hold a charge that the step does not tell of. charge, payment: their records' status."""
    return payment == COMPENSATING or (charge not in _NO_EFFECT and payment != COMPENSATED)


@dataclass(frozen=True, slots=True)
class OrderReader:
    """tables: physical names by logical id, of the steps' rows. records: the table of records."""

    client: "DynamoDBClient"
    tables: Mapping[str, str]
    records: str

    def read(self, order_id: str) -> OrderState:
        """Read everything, consistently, in one call. Raises StoreUnavailable, or as the client."""
        records = [f"{order_id}#{name}" for name in (*STEP_NAMES, PROCESS_PAYMENT.outside)]
        wanted: dict[str, Any] = {self.records: {"Keys": [{"pk": {"S": key}} for key in records]}}
        for step in STEPS:
            key = {name: {"S": value} for name, value in step.row_key(order_id).items()}
            wanted[self.tables[step.table]] = {"Keys": [key]}
        for request in wanted.values():
            request["ConsistentRead"] = True
        answer = self.client.batch_get_item(RequestItems=wanted)
        if answer.get("UnprocessedKeys"):
            raise StoreUnavailable("DynamoDB did not answer for all rows")
        found = answer["Responses"]
        by_key: dict[str, Item] = {item["pk"]["S"]: item for item in found.get(self.records, [])}
        return OrderState(
            {step.name: next(iter(found.get(self.tables[step.table], [])), None) for step in STEPS},
            {step.name: by_key.get(f"{order_id}#{step.name}") for step in STEPS},
            by_key.get(f"{order_id}#{PROCESS_PAYMENT.outside}"),
        )
