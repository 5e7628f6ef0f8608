"""Brings a target of a key up to its data, while commands run."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from idempotency import Contention, transact
from idempotency.dynamodb import RowClient, read_rows
from idempotency.expressions import condition_check, conditional_update

from .command import Attempt, Key
from .document import document_of
from .errors import StaleCommand
from .gate import Gates
from .lagging import LAGGING_SINCE
from .state import Gate
from .tables import Rows, Tables
from .targets import Document, Target

# A round is lost if a version has finished meanwhile.
_ROUNDS = 10


@dataclass(frozen=True, slots=True)
class Rebuild:
    """Rebuilds targets. client: a `boto3.client("dynamodb")`. tables: commands, gates and data."""

    client: RowClient
    tables: Tables

    def run(self, key: Key, name: str, target: Target, at: datetime) -> int:
        """Let the target show the newest finished version, even if it shows one that was skipped.

        name: the target, which is not lagging afterwards. Returns the version; 0 for none.
        Raises Contention, StoreUnavailable, TargetUnavailable; StateConflict if the gate and the data contradict each
        other; the key is then listed.
        """
        before: object = None
        for _ in range(_ROUNDS):
            item, row = read_rows(self.client, [(self.tables.gates, key.row), (self.tables.data, key.row)])
            if item is None:
                return 0
            gate = Gate.of(item)
            document = document_of(row) if row else _nothing(key, gate)
            if document.version != gate.data_version:
                if before == (item, row):
                    # Both only move forward, so both held at some moment.
                    problem = f"the data has version {document.version}, by the gate {gate.data_version}"
                    raise Gates(self.client, self.tables).conflict(key, problem, at)
                before = (item, row)
                continue
            try:
                turn = Rows(self.tables).turn(Attempt(key, gate.turn, 0))
                target.write(document, turn, skipped=gate.finished)
            except StaleCommand:
                continue
            if self._cleared(gate, name, document.version):
                return document.version
        raise Contention(f"{key.sk} is being finished by other calls")

    def _cleared(self, gate: Gate, name: str, version: int) -> bool:
        """Remove the target from the list, unless a version has finished that it may have missed."""
        if name not in gate.lagging:
            return True
        is_shown = "#version = :version" if version else "attribute_not_exists(#version)"
        check = condition_check(self.tables.data, gate.key.row, is_shown, {"version": version})
        return transact(self.client, [{"Update": self._update(gate, name)}, {"ConditionCheck": check}]) is None

    def _update(self, gate: Gate, name: str) -> Mapping[str, Any]:
        alone = len(gate.lagging) == 1
        return conditional_update(
            self.tables.gates,
            gate.key.row,
            condition="contains(#lagging, :name) AND size(#lagging) = :size",
            assign={},
            remove=[LAGGING_SINCE, "lagging"] if alone else [],
            delete={} if alone else {"lagging": "target"},
            values={"name": name, "size": len(gate.lagging), "target": frozenset({name})},
        )


def _nothing(key: Key, gate: Gate) -> Document:
    """Return the document that a target shows for a key without a finished version."""
    tenant, code = key.pk.partition("#")[2], key.sk.rpartition("#")[2]
    return Document(key.pk, key.sk, "", code, "", gate.type, 0, tenant, {}, deleted=True)
