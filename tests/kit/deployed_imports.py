"""Imports on a deployed stack: files, calls and their results."""

import csv
import io
import uuid
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from stepwise.operations.stack import Row, Stack
from tests.kit.deployed_commands import call
from tests.kit.injection import eventually

HEADER = ("code", "name", "category", "price", "currency")
FINAL = {"COMPLETED", "COMPLETED_WITH_FAILURES", "FAILED"}

type Cells = Mapping[str, str]


def product(number: int, **cells: str) -> Cells:
    """A valid row."""
    row = {"code": f"p{number:06}", "name": f"Product {number}", "category": "tea", "price": str(number)}
    return {**row, "currency": "JPY", **cells}


def csv_text(rows: Iterable[Cells], header: Sequence[str] = HEADER) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, header)
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


@dataclass(frozen=True)
class ProductImports:
    """The imports of one tenant."""

    stack: Stack
    tenant: str

    @property
    def bucket(self) -> str:
        return self.stack.outputs["ImportsBucket"]

    def upload(self, text: str | bytes, key: str | None = None) -> str:
        """Upload a file. Returns its key."""
        key = key or f"files/{uuid.uuid4().hex}.csv"
        body = text.encode() if isinstance(text, str) else text
        self.stack.client("s3").put_object(Bucket=self.bucket, Key=key, Body=body)
        return key

    def create(self, **fields: Any) -> dict[str, Any]:
        """Call CreateImport. Returns its response. Raises Refused."""
        return call(self.stack, "CreateImport", {"tenant_code": self.tenant, **fields})

    def start(self, text: str | bytes, **fields: Any) -> str:
        """Import a file of products. Returns the import's id."""
        return str(self.create(key=self.upload(text), type="PRODUCT", **fields)["import_id"])

    def find(self, import_id: str) -> Row | None:
        return self.stack.row("ImportsTable", pk=f"TENANT#{self.tenant}", sk=f"IMPORT#{import_id}")

    def row(self, import_id: str) -> Row:
        found = self.find(import_id)
        assert found is not None
        return found

    def ended(self, import_id: str, seconds: float = 120) -> Row:
        eventually(lambda: self.row(import_id)["status"] in FINAL, seconds=seconds)
        return self.row(import_id)

    def result(self, import_id: str, name: str) -> list[dict[str, str]]:
        """The rows of a result file."""
        return [dict(row) for row in csv.DictReader(io.StringIO(self.result_text(import_id, name), newline=""))]

    def result_text(self, import_id: str, name: str) -> str:
        key = self.row(import_id)["results"][name]
        body = self.stack.client("s3").get_object(Bucket=self.bucket, Key=key)["Body"].read()
        return str(body.decode())

    def data(self, code: str) -> Row | None:
        return self.stack.row("DataTable", pk=f"TENANT#{self.tenant}", sk=f"PRODUCT#{code}")


def counts(row: Row) -> tuple[int, int, int, int]:
    """The counters total, succeeded, failed and unprocessed."""
    return (row["total_rows"], row["succeeded_rows"], row["failed_rows"], row["unprocessed_rows"])
