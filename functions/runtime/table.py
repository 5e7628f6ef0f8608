"""Access to one table: reads, conditional writes, and the actions of transactions, in Python values.

    class TasksTable(Table):
        def find(self, key: TaskKey) -> Task | None:
            row = self.row(key.row)
            return Task.of(row) if row else None

        def close(self, task: Task) -> bool:
            return self.update(task.key.row, "#attempt = :seen", remove=["open_since"], values={"seen": task.attempt})

Conditions are DynamoDB expressions, in which `#name` is an attribute and `:name` a value. Writes are repeated while
they conflict with other transactions on the same row.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from idempotency import Action, Cancellation
from idempotency.codec import Item, to_item, to_value
from idempotency.dynamodb import Outcome, put, read_rows, update
from idempotency.expressions import condition_check, conditional_put, conditional_update

from .backoff import until_decided, written

NEW = "attribute_not_exists(#pk)"
"""The condition that a row does not exist yet."""

type Key = Mapping[str, str]
type Values = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """A table. client: a `boto3.client("dynamodb")`. name: the table's name.

    Reads are consistent, except those of an index. Reads of rows and all writes raise StoreUnavailable; writes also
    raise Contention.
    """

    FRACTIONS: ClassVar[bool] = False
    """True if rows hold JSON values of callers, in which a number may be a fraction."""

    client: Any
    name: str

    # Reads

    def row(self, key: Key) -> Item | None:
        """Read one row; None if it does not exist."""
        (found,) = self.rows(key)
        return found

    def rows(self, *keys: Key) -> list[Item | None]:
        """Read up to 100 rows, in one call, in this order."""
        return read_rows(self.client, [(self.name, key) for key in keys])

    def read_partition(self, pk: str, prefix: str, *, page: int | None = None) -> Iterator[Item]:
        """Read the rows of a partition whose sort keys start with a prefix, in order. page: rows per call."""
        pages = self.client.get_paginator("query").paginate(
            TableName=self.name,
            KeyConditionExpression="pk = :pk AND begins_with(sk, :prefix)",
            ExpressionAttributeValues=to_item({":pk": pk, ":prefix": prefix}),
            ConsistentRead=True,
            PaginationConfig={"PageSize": page},
        )
        for found in pages:
            yield from found["Items"]

    def read_index(self, index: str) -> Iterator[Item]:
        """Read all rows of an index, which may be late."""
        for page in self.client.get_paginator("scan").paginate(TableName=self.name, IndexName=index):
            yield from page["Items"]

    # Writes

    def update(self, key: Key, condition: str, assign: Values | None = None, **more: Any) -> bool:
        """Update a row under its condition. Returns whether the condition held. more: as for `update_action`."""
        return self.updated(key, condition, assign, **more).applied

    def updated(self, key: Key, condition: str, assign: Values | None = None, **more: Any) -> Outcome:
        """Like `update`, but returns the outcome, which has the row that failed the condition."""
        parameters = self.update_action(key, condition, assign, **more)["Update"]
        return until_decided(lambda: update(self.client, parameters))

    def put(self, row: Values, condition: str = NEW, values: Values | None = None) -> Outcome:
        """Write a whole row under its condition."""
        parameters = self.put_action(row, condition, values)["Put"]
        return until_decided(lambda: put(self.client, parameters))

    def transact(self, actions: Sequence[Action]) -> Cancellation | None:
        """Write all actions or none. Returns None, or the failed conditions."""
        return written(self.client, actions)

    # Actions of a transaction

    def update_action(
        self,
        key: Key,
        condition: str,
        assign: Values | None = None,
        *,
        values: Values | None = None,
        computed: Mapping[str, str] | None = None,
        remove: Sequence[str] = (),
        add: Mapping[str, str] | None = None,
        delete: Mapping[str, str] | None = None,
    ) -> Action:
        """Build an update of attributes. The arguments are those of `idempotency.expressions.conditional_update`."""
        change = conditional_update(
            self.name,
            key,
            condition=condition,
            assign=assign or {},
            values=values,
            computed=computed,
            remove=remove,
            add=add,
            delete=delete,
            encode=self._value,
        )
        return {"Update": change}

    def put_action(self, row: Values, condition: str = "", values: Values | None = None) -> Action:
        """Build the write of a whole row; without a condition, whether it exists or not."""
        check = conditional_put(self.name, {}, condition, values or {}) if condition else {"TableName": self.name}
        return {"Put": {**check, "Item": {name: self._value(value) for name, value in row.items()}}}

    def check_action(self, key: Key, condition: str, values: Values | None = None) -> Action:
        """Build a check of a condition, which writes nothing."""
        return {"ConditionCheck": condition_check(self.name, key, condition, values or {})}

    def delete_action(self, key: Key, condition: str = "", values: Values | None = None) -> Action:
        """Build the deletion of a row; without a condition, whether it exists or not."""
        if not condition:
            return {"Delete": {"TableName": self.name, "Key": to_item(key)}}
        return {"Delete": condition_check(self.name, key, condition, values or {})}

    def _value(self, value: Any) -> dict[str, Any]:
        return to_value(value, fractions=self.FRACTIONS)
