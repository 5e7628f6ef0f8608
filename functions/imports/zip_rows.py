"""Rows of ImportsTable that a ZIP and its children share.

The ZIP's counters move with those of its children: see ImportsTable. Its row counts its children. A child is created in
one transaction with that count, and the ZIP ends on the condition that it has not moved: no child comes into being
after the ZIP's counters were computed.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import batched
from typing import Any

from idempotency.codec import Item, to_value
from idempotency.dynamodb import read_rows, update
from idempotency.expressions import conditional_put, conditional_update
from runtime.backoff import until_decided, written

from .keys import ImportKey
from .state import TOTALS, Import, Status
from .table import OPEN_SINCE, ImportsTable

ENTRIES, CHILDREN, TOKENS = "entries", "children", "tokens"
"""Attributes: of a ZIP, how many entries it has and how many children were created; of a child, callback tokens."""

_NEW = "attribute_not_exists(#pk)"
_OPEN = "attribute_exists(#open_since)"
_MAX_READ = 100


@dataclass(frozen=True, slots=True)
class ZipRows:
    table: ImportsTable

    def add(self, parent: Import, child: Import, at: datetime) -> bool:
        """Create a child, unless it exists. Returns False if the ZIP has ended or was stopped: there is no child."""
        new = conditional_put(self.table.name, {}, _NEW, {})
        counted = conditional_update(
            self.table.name,
            parent.key.row,
            condition=f"{_OPEN} AND attribute_not_exists(#stopped_by)",
            assign={"updated_at": at.isoformat()},
            computed={CHILDREN: f"#{CHILDREN} + :one"},
            values={"one": 1},
        )
        item = {name: to_value(value, fractions=True) for name, value in child.values.items()}
        cancelled = written(self.table.client, [{"Put": {**new, "Item": item}}, {"Update": counted}])
        return cancelled is None or 0 in cancelled.refusals

    def children(self, parent: Import) -> dict[int, Import]:
        """The children by the number of their entry, read consistently. Raises StoreUnavailable."""
        found: dict[int, Import] = {}
        for numbers in batched(range(1, parent.values.get(ENTRIES, 0) + 1), _MAX_READ, strict=False):
            keys = [(self.table.name, parent.key.child(number).row) for number in numbers]
            rows = zip(numbers, read_rows(self.table.client, keys), strict=True)
            found |= {number: Import.of(item) for number, item in rows if item}
        return found

    def park(self, child: ImportKey, token: str) -> bool:
        """Keep a token until the child has ended. Returns False if it has ended: its results are stored."""
        return self._update(child, _OPEN, add={TOKENS: "token"}, values={"token": frozenset({token})})

    def tokens(self, keys: Sequence[ImportKey]) -> dict[ImportKey, frozenset[str]]:
        """The tokens of children that have ended, of up to 100. They are read here, and in the stream, only."""
        rows = read_rows(self.table.client, [(self.table.name, key.row) for key in keys])
        return {key: tokens for key, item in zip(keys, rows, strict=True) if item and (tokens := ended_tokens(item))}

    def forget(self, child: ImportKey, tokens: frozenset[str]) -> None:
        """Drop tokens that were answered. A newer one stays."""
        self._update(child, "attribute_exists(#pk)", delete={TOKENS: "answered"}, values={"answered": tokens})

    def refuse(self, parent: Import, error: Any, at: datetime) -> bool:
        """End a ZIP without entries, unless it has ended. Returns False if it was unzipped since `parent` was read."""
        times = {"updated_at": at.isoformat(), "ended_at": at.isoformat()}
        assign = {**times, "status": Status.FAILED, "error": error}
        allowed = f"{_OPEN} AND attribute_not_exists(#{ENTRIES})"
        if "error" not in parent.values:
            allowed += " AND attribute_not_exists(#error)"
        if self._update(parent.key, allowed, assign=assign, remove=[OPEN_SINCE]):
            return True
        return self.table.known(parent.key).status.final

    def end(self, parent: Import, children: Mapping[int, Import], status: Status, error: Any, at: datetime) -> bool:
        """Set the ZIP's final status and counters, if no child was created since `children` was read."""
        totals: Counter[str] = Counter()
        for child in children.values():
            totals.update({name: child.values.get(name) or 0 for name in TOTALS})
        times = {"updated_at": at.isoformat(), "ended_at": at.isoformat()}
        assign = {**{name: totals[name] for name in TOTALS}, **times, "status": status}
        return self._update(
            parent.key,
            f"{_OPEN} AND #{CHILDREN} = :seen",
            assign={**assign, **({"error": error} if error else {})},
            remove=[OPEN_SINCE],
            values={"seen": len(children)},
        )

    def _update(self, key: ImportKey, condition: str, *, assign: Mapping[str, Any] | None = None, **parts: Any) -> bool:
        parameters = conditional_update(self.table.name, key.row, condition=condition, assign=assign or {}, **parts)
        return until_decided(lambda: update(self.table.client, parameters)).applied


def ended_tokens(item: Item) -> frozenset[str]:
    """The tokens on the row of a child that has ended."""
    return frozenset() if OPEN_SINCE in item else frozenset(item.get(TOKENS, {}).get("SS", ()))
