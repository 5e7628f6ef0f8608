"""One step of a saga: its compensation, and its row.

Step records expire, rows do not. So the effects of a step are read from its row, whose status has the last word.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from idempotency.codec import to_item
from idempotency.dynamodb import Action

type Item = Mapping[str, Any]


def _no_facts(_: Any) -> Mapping[str, Any]:
    return {}


@dataclass(frozen=True, slots=True)
class SagaStep:
    """One step of a saga.

    compensation: the name of the transaction that undoes it.
    table: the logical id of the table that has its row. key, prefix: the row's primary key is `prefix` + saga_id.
    standing: the statuses of the row while the step's effect stands; `insert` writes the first.
    undone: the status of the row once the step is undone, as `undo` writes it.
    joined_at: when the step joined a deployed saga, in ISO 8601 and UTC: older sagas may lack it.
    facts: the row's attributes that come from the request; another request under the same id differs in them.
    outside: the name of the lease under which the step works outside DynamoDB, if it does.
    """

    name: str
    compensation: str
    table: str
    key: str
    standing: tuple[str, ...]
    prefix: str = ""
    facts: Callable[[Any], Mapping[str, Any]] = _no_facts
    outside: str | None = None
    undone: str = ""
    joined_at: str = ""

    def row_key(self, saga_id: str) -> dict[str, str]:
        """Return the primary key of the step's row."""
        return {self.key: f"{self.prefix}{saga_id}"}

    def insert(self, table: str, saga_id: str, request: Any, **more: Any) -> Action:
        """Insert the step's row: the request's facts, and `more`. Never overwrites an existing row."""
        row = {**self.row_key(saga_id), **self.facts(request), "status": self.standing[0], **more}
        condition = f"attribute_not_exists({self.key})"
        return {"Put": {"TableName": table, "Item": to_item(row), "ConditionExpression": condition}}

    def undo(self, table: str, saga_id: str, **more: Any) -> Action:
        """Mark the step's row as undone, and store `more` on it. Fails unless the step is in effect."""
        check = self.stands(table, saga_id)["ConditionCheck"]
        sets = ", ".join(["#status = :undone", *(f"{name} = :{name}" for name in more)])
        values = to_item({f":{name}": value for name, value in {"undone": self.undone, **more}.items()})
        return {
            "Update": {
                **check,
                "UpdateExpression": f"SET {sets}",
                "ExpressionAttributeValues": {**check["ExpressionAttributeValues"], **values},
            }
        }

    def absent(self, table: str, saga_id: str) -> Action:
        """Check that there is no row, whatever its status. table: the table's physical name, here and below."""
        return check(table, self.row_key(saga_id), f"attribute_not_exists({self.key})")

    def does_not_stand(self, table: str, saga_id: str) -> Action:
        """Check that the step's effect does not stand: the row is missing or marked as undone."""
        return self._by_status(table, saga_id, f"attribute_not_exists({self.key}) OR NOT ({self._in()})")

    def stands(self, table: str, saga_id: str, request: Any = None) -> Action:
        """Check that the step is in effect; with `request`, that this request caused the effect."""
        facts = {} if request is None else self.facts(request)
        same = "".join(f" AND #{name} = :{name}" for name in facts)
        return self._by_status(table, saga_id, self._in() + same, facts)

    def is_standing(self, row: Item | None) -> bool:
        """True if a row, in DynamoDB JSON, shows that the step is in effect."""
        return row is not None and row["status"]["S"] in self.standing

    def is_of(self, row: Item, request: Any) -> bool:
        """True if a row, in DynamoDB's own JSON, is the effect of this very request."""
        return all(row.get(name) == value for name, value in to_item(self.facts(request)).items())

    def _in(self) -> str:
        return f"#status IN ({', '.join(f':standing{index}' for index in range(len(self.standing)))})"

    def _by_status(self, table: str, saga_id: str, condition: str, facts: Mapping[str, Any] | None = None) -> Action:
        known = facts or {}
        statuses = {f"standing{index}": status for index, status in enumerate(self.standing)}
        return check(table, self.row_key(saga_id), condition, ["status", *known], {**statuses, **known})


def check(
    table: str,
    key: Mapping[str, str],
    condition: str,
    names: Iterable[str] = (),
    values: Mapping[str, Any] | None = None,
) -> Action:
    """Build a condition check on one row. names, values: those that the condition uses."""
    found = {"TableName": table, "Key": to_item(key), "ConditionExpression": condition}
    if values:
        found["ExpressionAttributeNames"] = {f"#{name}": name for name in names}
        found["ExpressionAttributeValues"] = {f":{name}": value for name, value in to_item(values).items()}
    return {"ConditionCheck": found}
