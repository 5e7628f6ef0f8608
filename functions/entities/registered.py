"""The types and targets of this application: docs/commands.md adds one of each."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from runtime.clients import client
from runtime.dynamodb import dynamodb

from .catalog import CatalogBucket
from .products import PRODUCT, ProductsTable
from .targets import Target
from .types import Types


@dataclass(frozen=True, slots=True, kw_only=True)
class TargetEnvironment:
    """The environment variables of every function that writes targets."""

    products_table: str
    catalog_bucket: str


TARGETS: Mapping[str, Callable[[TargetEnvironment], Target]] = {
    "products": lambda environment: ProductsTable(dynamodb(), environment.products_table),
    "catalog": lambda environment: CatalogBucket(client("s3"), environment.catalog_bucket),
}
TYPES = Types([PRODUCT], TARGETS)


def targets(environment: TargetEnvironment) -> dict[str, Target]:
    """Every target, by name."""
    return {name: made(environment) for name, made in TARGETS.items()}
