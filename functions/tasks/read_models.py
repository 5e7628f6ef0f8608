"""rebuild-read-model: every target of a key shows its newest finished version."""

from dataclasses import dataclass
from typing import Any

from msgspec import Struct

from entities.command import Key, Pk, Sk
from entities.rebuild import Rebuild
from entities.registered import TYPES, targets
from entities.state import States, Tables
from entities.targets import Clients

from .errors import NothingPublished
from .types import HandlerEnvironment, Run, Scope, TaskType


class KeyItem(Struct, frozen=True, forbid_unknown_fields=True):
    """The key of an entity of the task's tenant."""

    pk: Pk
    sk: Sk


@dataclass(frozen=True, slots=True)
class RebuildReadModel:
    """May be done again at any time: a target never goes back."""

    environment: HandlerEnvironment
    clients: Clients

    def __call__(self, item: KeyItem, _run: Run) -> dict[str, Any]:
        """Returns {"targets": {name: version}}. Raises NothingPublished, TargetUnavailable, Contention."""
        own = self.environment
        client, tables = self.clients("dynamodb"), Tables("", own.gates_table, own.data_table)
        key = Key(item.pk, item.sk)
        gate = States(client, tables).gate(key)
        if gate is None:
            raise NothingPublished(f"{item.sk}: nothing was published for this key")
        made, rebuild = targets(own, self.clients), Rebuild(client, tables)
        return {"targets": {name: rebuild.run(key, name, made[name]) for name in TYPES.of(gate.type).targets}}


def _problem(item: KeyItem, scope: Scope) -> str:
    return "" if item.pk == f"TENANT#{scope.tenant_code}" else "pk: must be TENANT# and the tenant_code"


REBUILD_READ_MODEL = TaskType("rebuild-read-model", KeyItem, RebuildReadModel, problem=_problem)
