"""Targets: read models. Each follows the finished versions of a key and never goes back."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from idempotency.dynamodb import Action
from runtime.environment import Variables


class TargetEnvironment(Variables):
    """The environment variables of every function that writes targets."""

    products_table: str
    catalog_bucket: str


type Clients = Callable[[str], Any]
"""The client of an AWS service."""


@dataclass(frozen=True, slots=True)
class Document:
    """One version of an entity, as a target gets it. attributes: JSON values; empty if the entity is deleted."""

    pk: str
    sk: str
    id: str
    code: str
    name: str
    type: str
    version: int
    tenant_code: str
    attributes: Mapping[str, Any]
    deleted: bool


class Target(Protocol):
    """A read model. Its writes are conditional: an older version never replaces a newer one."""

    def version(self, pk: str, sk: str) -> int:
        """Return the version that it shows for a key, read consistently; 0 for none. Raises TransientError."""
        ...

    def write(self, document: Document, turn: Action | None = None, /, *, skipped: int = 0) -> None:
        """Show the document, unless an equal or newer version is shown.

        turn: a ConditionCheck, True while it is the document's turn; a target on DynamoDB adds it to its transaction.
        None if the version has finished.
        skipped: every newer version up to this one was skipped, and may be replaced.
        Raises StaleCommand if the check fails, TransientError.
        """
        ...


def is_shown(document: Document, shown: int, skipped: int) -> bool:
    """True if a target that shows this version must not be written. skipped: as for `Target.write`."""
    return shown >= document.version and not document.version < shown <= skipped
