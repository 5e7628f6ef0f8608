"""The command machine and its functions."""

import dataclasses
from typing import TYPE_CHECKING, ClassVar

from entities.products import PRODUCT
from entities.registered import TYPES
from entities.types import Policy
from tests.faults.actors import engine as shared
from tests.faults.actors.engine import functions_of
from tests.faults.commands.beside import REBUILD, rebuild

if TYPE_CHECKING:
    from tests.faults.commands.run import Run


class Engine(shared.Engine):
    MACHINE: ClassVar = "Command"
    TABLES: ClassVar = ("CommandsTable", "GatesTable", "DataTable", "HistoryTable", "ProductsTable", "IdempotencyTable")
    BUCKET: ClassVar = "CatalogBucket"
    FUNCTIONS: ClassVar = functions_of("commands")

    def start(self) -> "Engine":
        super().start()
        self.handlers[REBUILD] = rebuild
        return self

    def begin(self, run: "Run") -> None:
        super().begin(run)
        policy = Policy.SKIP if run.skips else Policy.BLOCK
        TYPES._types[PRODUCT.name] = dataclasses.replace(PRODUCT, policy=policy)

    def hold(self) -> None:
        super().hold()
