"""SUPPLIER: its schema, and SuppliersTable, which lists a tenant's suppliers."""

from dataclasses import dataclass
from typing import Annotated

from msgspec import Meta, Struct

from idempotency import Contention, transact
from idempotency.dynamodb import Action, RowClient, read_rows
from idempotency.expressions import conditional_put

from .errors import StaleCommand
from .targets import Document, is_shown
from .types import EntityType


class Supplier(Struct, frozen=True, forbid_unknown_fields=True):
    """country: as in ISO 3166."""

    country: Annotated[str, Meta(pattern=r"^[A-Z]{2}\Z")]
    lead_days: Annotated[int, Meta(ge=0, le=365)] = 0


SUPPLIER = EntityType("SUPPLIER", Supplier, ("suppliers",), code_in_sk=True)


@dataclass(frozen=True, slots=True)
class SuppliersTable:
    """One row for each supplier, which is never removed."""

    client: RowClient
    name: str

    def version(self, pk: str, sk: str) -> int:
        """The version that is shown. One call."""
        row = read_rows(self.client, [(self.name, {"pk": pk, "sk": sk})])[0]
        return int(row["version"]["N"]) if row else 0

    def write(self, document: Document, turn: Action | None = None, /, *, skipped: int = 0) -> None:
        """Show the document. One read and one transaction."""
        seen = self.version(document.pk, document.sk)
        if is_shown(document, seen, skipped):
            return
        country = {} if document.deleted else {"country": document.attributes["country"]}
        key = {"pk": document.pk, "sk": document.sk}
        item = {**key, **country, "version": document.version, "deleted": document.deleted}
        as_read = "#version = :seen" if seen else "attribute_not_exists(#version)"
        put: Action = {"Put": conditional_put(self.name, item, as_read, {"seen": seen})}
        cancelled = transact(self.client, [turn, put] if turn else [put])
        if cancelled and turn and 0 in cancelled.refusals:
            raise StaleCommand(f"{document.sk}@{document.version}: it is not its turn")
        if cancelled:
            raise Contention(f"{document.sk} is being written by other calls")
