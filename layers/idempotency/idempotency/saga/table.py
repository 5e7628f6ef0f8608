"""The saga's row, which is the row of its first step: whether the saga is decided, and the steps in effect."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, ClassVar, Protocol

from idempotency.codec import to_item
from idempotency.dynamodb import Action

from .definition import Saga

# Key of a sparse index of this name: a row has this attribute, with its saga's id, until the saga is confirmed or
# finalization has found no step in effect.
UNSETTLED = "unsettled"
# Names of the steps that stand although the saga has failed.
STANDING = "standing"


@dataclass(frozen=True, slots=True)
class SagaTable:
    """Builds actions of a transaction; the step store writes them. name: the table's physical name."""

    saga: ClassVar[Saga]

    name: str

    def row(self, request: Any, at: datetime) -> Mapping[str, Any]:
        """Row attributes that come from a request."""
        del at
        return self.saga.first.facts(request)

    def save(self, request: Any, at: datetime) -> Action:
        """Insert the saga's row, open. Never overwrites an existing row."""
        return self.insert(getattr(request, self.saga.id_field), self.row(request, at), self.saga.open, at)

    def save_failed(self, request: Any, at: datetime, standing: Collection[str]) -> Action:
        """Insert the row of a saga that failed before its first step, so that steps in effect are listed."""
        saga_id = getattr(request, self.saga.id_field)
        return self.insert(saga_id, self.row(request, at), self.saga.failed, at, standing)

    def save_unknown(self, saga_id: str, at: datetime, standing: Collection[str]) -> Action:
        """Insert the row of a saga that had no valid input, so that what other calls left under its id is listed."""
        return self.insert(saga_id, {}, self.saga.failed, at, standing)

    def insert(
        self, saga_id: str, facts: Mapping[str, Any], status: str, at: datetime, standing: Collection[str] = ()
    ) -> Action:
        """Insert the row. Never overwrites an existing one. standing: the steps that stand of a failed saga."""
        first, time = self.saga.first, at.isoformat()
        item = {
            **first.row_key(saga_id),
            **facts,
            "status": status,
            "created_at": time,
            "updated_at": time,
            "revision": 1,
            UNSETTLED: saga_id,
        }
        stands = {STANDING: {"SS": sorted(standing)}} if standing else {}
        return {
            "Put": {
                "TableName": self.name,
                "Item": {**to_item(item), **stands},
                "ConditionExpression": f"attribute_not_exists({first.key})",
            }
        }

    def confirm(self, saga_id: str, at: datetime) -> Action:
        """Confirm a saga that succeeded. A failed saga stays failed."""
        set_status = f"SET #status = :status, updated_at = :at REMOVE {UNSETTLED}, {STANDING}"
        return self.update(saga_id, set_status, self.saga.undecided, at, {":status": {"S": self.saga.confirmed}})

    def fail(self, saga_id: str, at: datetime) -> Action:
        """Undo the first step. The row stays in the index until finalization has reviewed the other steps."""
        set_status = "SET #status = :status, updated_at = :at"
        return self.update(saga_id, set_status, self.saga.undecided, at, {":status": {"S": self.saga.failed}})

    def list_standing(self, saga_id: str, status: str, at: datetime, standing: Collection[str]) -> Action:
        """Store the steps in effect of a failed saga, which stays in the index. status: the row's status, unchanged."""
        if not standing:
            return self.update(saga_id, f"SET updated_at = :at REMOVE {UNSETTLED}, {STANDING}", [status], at, {})
        expression = f"SET updated_at = :at, {UNSETTLED} = :saga_id, {STANDING} = :standing"
        values = {":saga_id": {"S": saga_id}, ":standing": {"SS": sorted(standing)}}
        return self.update(saga_id, expression, [status], at, values)

    def update(
        self, saga_id: str, expression: str, before: Sequence[str], at: datetime, values: Mapping[str, Any]
    ) -> Action:
        """Build an update, on the condition that the row has one of these statuses. Streams need the revision.

        values: in DynamoDB's own JSON.
        """
        statuses = {f":before{index}": status for index, status in enumerate(before)}
        return {
            "Update": {
                "TableName": self.name,
                "Key": to_item(self.saga.first.row_key(saga_id)),
                "UpdateExpression": f"{expression} ADD revision :one",
                "ConditionExpression": f"#status IN ({', '.join(statuses)})",
                "ExpressionAttributeNames": {"#status": "status"},
                "ExpressionAttributeValues": {
                    **to_item({**statuses, ":at": at.isoformat(), ":one": 1}),
                    **values,
                },
            }
        }


class ScanClient(Protocol):
    """The part of `boto3.client("dynamodb")` that the index needs."""

    @property
    def get_paginator(self) -> Callable[..., Any]: ...


@dataclass(frozen=True, slots=True)
class Unsettled:
    """A saga in the index, which may be late. standing: whether its row names steps that stand."""

    saga_id: str
    standing: bool


@dataclass(frozen=True, slots=True)
class UnsettledIndex:
    """Index of undecided sagas and of failed sagas with steps in effect.

    Reading it costs nothing if there are none.
    """

    client: ScanClient
    table: str

    def before(self, time: datetime) -> Iterator[Unsettled]:
        """Yield sagas whose row was created before this time, or with steps in effect, in no order."""
        pages = self.client.get_paginator("scan").paginate(
            TableName=self.table,
            IndexName=UNSETTLED,
            FilterExpression=f"created_at < :time OR attribute_exists({STANDING})",
            ExpressionAttributeValues={":time": {"S": time.isoformat()}},
        )
        for page in pages:
            for item in page["Items"]:
                yield Unsettled(item[UNSETTLED]["S"], STANDING in item)
