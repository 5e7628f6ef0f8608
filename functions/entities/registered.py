"""The types and targets of this application: docs/add-a-type.md shows how to add one of each."""

from collections.abc import Callable, Mapping

from runtime.clients import client

from .catalog import CatalogBucket
from .products import PRODUCT, ProductsTable
from .targets import Clients, Target, TargetEnvironment
from .types import Types

TARGETS: Mapping[str, Callable[[TargetEnvironment, Clients], Target]] = {
    "products": lambda environment, clients: ProductsTable(clients("dynamodb"), environment.products_table),
    "catalog": lambda environment, clients: CatalogBucket(
        clients("s3"), environment.catalog_bucket, clients("dynamodb")
    ),
}
TYPES = Types([PRODUCT], TARGETS)


def targets(environment: TargetEnvironment, clients: Clients = client) -> dict[str, Target]:
    """Return every target, by name. clients: those of this execution environment, or an operator's."""
    return {name: create(environment, clients) for name, create in TARGETS.items()}
