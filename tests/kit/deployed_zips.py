"""ZIPs on a deployed stack: uploaded, imported, observed and disturbed from outside."""

import json
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from stepwise.operations.stack import Row, Stack
from tests.kit.deployed_commands import call
from tests.kit.injection import eventually


@dataclass(frozen=True)
class Zip:
    """An import of a ZIP."""

    stack: Stack
    tenant: str
    import_id: str

    @classmethod
    def of(cls, stack: Stack, tenant: str, data: bytes, **fields: Any) -> "Zip":
        """Store an archive and import it."""
        key = f"zips/{uuid.uuid4().hex}.zip"
        stack.client("s3").put_object(Bucket=stack.outputs["ImportsBucket"], Key=key, Body=data)
        asked = {"tenant_code": tenant, "key": key, "type": "PRODUCT", **fields}
        return cls(stack, tenant, call(stack, "CreateImport", asked)["import_id"])

    @property
    def row(self) -> Row:
        return self._row(self.import_id)

    def child(self, number: int) -> Row:
        return self._row(f"{self.import_id}-{number:04}")

    @property
    def children(self) -> list[str]:
        """The ids of its children."""
        rows = self.stack.rows("ImportsTable")
        return sorted(row["import_id"] for row in rows if row.get("parent_id") == self.import_id)

    @property
    def objects(self) -> list[str]:
        """Every remaining version of the objects that it wrote."""
        s3, bucket = self.stack.client("s3"), self.stack.outputs["ImportsBucket"]
        page = s3.list_object_versions(Bucket=bucket, Prefix=f"work/{self.import_id}/")
        return [one["Key"] for one in [*page.get("Versions", []), *page.get("DeleteMarkers", [])]]

    @property
    def arn(self) -> str:
        return f"{self.stack.outputs['ImportZipArn'].replace(':stateMachine:', ':execution:')}:{self.import_id}"

    @property
    def execution(self) -> Any:
        return self.stack.stepfunctions.describe_execution(executionArn=self.arn)

    @property
    def history(self) -> str:
        """The execution's history without task input: a token is a parameter of the waiting task."""
        events = self.stack.stepfunctions.get_execution_history(executionArn=self.arn)["events"]
        return json.dumps([one for one in events if not one["type"].endswith("Scheduled")], default=str)

    def ends(self, seconds: float = 120) -> Row:
        """Wait for its final status. Returns its row."""
        return self._until(self.import_id, _has_ended, seconds)

    def child_ends(self, number: int, seconds: float = 120) -> Row:
        return self._until(f"{self.import_id}-{number:04}", _has_ended, seconds)

    def waits_for(self, number: int, seconds: float = 60) -> str:
        """Wait for a child's token. Returns it."""
        row = self._until(f"{self.import_id}-{number:04}", lambda row: bool(row.get("tokens")), seconds)
        return str(min(row["tokens"]))

    def _until(self, import_id: str, condition: Callable[[Row], bool], seconds: float) -> Row:
        eventually(lambda: condition(self._row(import_id)), seconds=seconds, every=0.2)
        return self._row(import_id)

    def _row(self, import_id: str) -> Row:
        """Return the import's row; empty if there is none."""
        return self.stack.row("ImportsTable", pk=f"TENANT#{self.tenant}", sk=f"IMPORT#{import_id}") or {}


def _has_ended(row: Row) -> bool:
    return bool(row) and "open_since" not in row
