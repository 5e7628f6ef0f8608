"""The machine of imports and its functions."""

import dataclasses
import json
import types
from typing import TYPE_CHECKING, ClassVar

from ministack.services import s3, stepfunctions

import imports.creation
import imports.executions
import imports.finalizing
import imports.handlers
from entities.products import PRODUCT
from entities.registered import TYPES
from tests.faults.actors import engine as shared
from tests.faults.actors.engine import functions_of
from tests.faults.seams import Document
from tests.kit.engines.in_process import replace

if TYPE_CHECKING:
    from tests.faults.imports.run import Run

PUBLISH = "PublishCommandFunction"
# The function that ends the commands of other publishers.
OTHERS = ("CheckVersion", "SetTtlCommand", "HistoryCopy", "TransformData", "FinishCommand")


class Engine(shared.Engine):
    MACHINE: ClassVar = "ImportCsv"
    TABLES: ClassVar = (
        *("ImportsTable", "IdempotencyTable", "CommandsTable", "GatesTable", "DataTable", "HistoryTable"),
        "ProductsTable",
    )
    BUCKET: ClassVar = "ImportsBucket"
    FUNCTIONS: ClassVar = [
        *functions_of("imports"),
        *(PUBLISH, *(f"{name}Function" for name in OTHERS)),
    ]

    def start(self) -> "Engine":
        super().start()
        self.create_machine("ImportZip")
        TYPES._types[PRODUCT.name] = dataclasses.replace(PRODUCT, secret=("description",))
        return self

    def begin(self, run: "Run") -> None:
        super().begin(run)
        for module in (imports.creation, imports.finalizing):
            replace(module, "BATCH_ROWS", run.plan.batch_rows)

    def clear(self) -> None:
        super().clear()
        stepfunctions._map_runs.clear()
        imports.handlers.plan.cache_clear()

    def make_bucket(self) -> None:
        super().make_bucket()
        catalog = self.stack.name("CatalogBucket")
        s3._buckets.pop(catalog, None)
        s3._create_bucket(catalog, b"", {})
        s3._object_versions.clear()
        s3._bucket_versioning[self.bucket] = "Enabled"

    def hold(self) -> None:
        super().hold()
        replace(imports.executions, "time", self.long_waits)
        for module in (imports.creation, imports.finalizing):
            replace(module, "uuid", types.SimpleNamespace(uuid4=lambda: self.on.new_id()))
        # The id of an import by upload is a digest of the object's version.
        replace(s3, "new_uuid", lambda: self.run.new_version() if self.run else "none")

    def stored(self, key: str) -> str | None:
        """Return the text of an object; None if there is none."""
        status, _, body = s3._get_object(self.bucket, key, {}, {})
        return body.decode() if status == 200 else None

    def start_by_hand(self, name: str, document: Document) -> None:
        request = {"stateMachineArn": self.stack.arn(self.MACHINE), "name": name, "input": json.dumps(document)}
        stepfunctions._start_execution(request)

    def map_runs(self) -> list[Document]:
        return list(stepfunctions._map_runs.values())
