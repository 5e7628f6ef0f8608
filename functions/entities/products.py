"""PRODUCT: its schema, and ProductsTable, where a tenant's products are found by category."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Any

from msgspec import Meta, Struct

from idempotency import Contention
from idempotency.codec import Item, to_item
from idempotency.dynamodb import Action, RowClient, read_rows
from idempotency.expressions import conditional_put
from runtime.backoff import written

from .errors import StaleCommand
from .targets import Document, is_shown
from .types import EntityType

# A round is lost if another version was written.
_ROUNDS = 3


class Product(Struct, frozen=True, forbid_unknown_fields=True):
    """A product. price: in the currency's minor unit."""

    category: Annotated[str, Meta(pattern=r"^[a-z0-9-]{1,40}\Z")]
    price: Annotated[int, Meta(ge=0, le=10**9)]
    currency: Annotated[str, Meta(pattern=r"^[A-Za-z]{3}\Z")]
    description: Annotated[str, Meta(max_length=2000)] = ""
    available: bool = True


PRODUCT = EntityType("PRODUCT", Product, ("products", "catalog"), code_in_sk=True)


def facts(document: Document) -> dict[str, Any]:
    """Return the fields that both read models show of a product that is not deleted."""
    attributes = document.attributes
    return {
        "name": document.name,
        "price": attributes["price"],
        "currency": attributes["currency"],
        "available": attributes.get("available", True),
        "version": document.version,
    }


@dataclass(frozen=True, slots=True)
class ProductsTable:
    """Rows by tenant and category, and one pointer per product, which is never deleted.

    The pointer has the shown version and its category. It changes in the same transaction as the rows, so that a late
    writer of an old version cannot bring back a row in an old category.
    """

    client: RowClient
    name: str

    def version(self, pk: str, sk: str) -> int:
        """Return the shown version. One call."""
        return _shown(self._pointer(pk, sk))

    def write(self, document: Document, turn: Action | None = None, /, *, skipped: int = 0) -> None:
        """Show the document. One read and one transaction."""
        for _ in range(_ROUNDS):
            pointer = self._pointer(document.pk, document.sk)
            if is_shown(document, _shown(pointer), skipped):
                return
            actions = [*([turn] if turn else []), self._moved(document, pointer), *self._rows(document, pointer)]
            cancelled = written(self.client, actions)
            if cancelled is None:
                return
            if turn and 0 in cancelled.refusals:
                raise StaleCommand(f"{document.sk}@{document.version}: it is not its turn")
        raise Contention(f"{document.sk} is being written by other calls")

    def _pointer(self, pk: str, sk: str) -> Item | None:
        return read_rows(self.client, [(self.name, {"pk": pk, "sk": sk})])[0]

    def _moved(self, document: Document, pointer: Item | None) -> Action:
        """Move the pointer, on the condition that it is unchanged."""
        category = {} if document.deleted else {"category": document.attributes["category"]}
        item = {"pk": document.pk, "sk": document.sk, "version": document.version, "deleted": document.deleted}
        as_read = "#version = :seen" if pointer else "attribute_not_exists(#version)"
        return {"Put": conditional_put(self.name, {**item, **category}, as_read, {"seen": _shown(pointer)})}

    def _rows(self, document: Document, pointer: Item | None) -> Iterator[Action]:
        """Write the row in the document's category, and delete the one in an older category.

        The pointer's condition guards both.
        """
        old = pointer["category"]["S"] if pointer and "category" in pointer else None
        new = None if document.deleted else document.attributes["category"]
        if new is not None:
            item = to_item({**_key(document, new), **facts(document)})
            yield {"Put": {"TableName": self.name, "Item": item}}
        if old is not None and old != new:
            yield {"Delete": {"TableName": self.name, "Key": to_item(_key(document, old))}}


def _key(document: Document, category: str) -> dict[str, str]:
    return {"pk": f"{document.pk}#CATEGORY#{category}", "sk": document.sk}


def _shown(pointer: Item | None) -> int:
    return int(pointer["version"]["N"]) if pointer else 0
