"""Targets that could not follow, and gates that are older than their key's rows: listed until they are rebuilt."""

from dataclasses import dataclass
from datetime import datetime

from idempotency.dynamodb import RowClient, update
from idempotency.expressions import conditional_update
from runtime.backoff import until_decided

from .command import Key

LAGGING_SINCE = "lagging_since"
"""Attribute, and sparse index, of the gates of keys with such a target."""
GATE = "gate"
"""The name of the gate itself in the list, if it is older than the rows of its key."""


@dataclass(frozen=True, slots=True)
class Lagging:
    """client: a `boto3.client("dynamodb")`. gates: the name of the table."""

    client: RowClient
    gates: str

    def mark(self, key: Key, target: str, at: datetime) -> None:
        """List the key. Raises Contention, StoreUnavailable."""
        parameters = conditional_update(
            self.gates,
            key.row,
            condition="attribute_exists(#pk)",
            assign={"updated_at": at.isoformat()},
            computed={LAGGING_SINCE: f"if_not_exists(#{LAGGING_SINCE}, :updated_at)"},
            add={"lagging": "target"},
            values={"target": frozenset({target})},
        )
        until_decided(lambda: update(self.client, parameters))
