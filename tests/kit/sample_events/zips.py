"""Expected results of the sample events of ZIPs, and the state that each needs."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from stepwise.operations.stack import Stack
from tests.kit.project import ROOT, read_json
from tests.kit.sample_events.expected import Expected, invoked
from tests.kit.zip_builder import File, archive

_EVENTS = ROOT / "events" / "imports"
_JOB = read_json(_EVENTS / "unzip.json")
_ID, _TENANT = _JOB["import_id"], _JOB["tenant_code"]
_KEY = "files/products.zip"
# No event starts its machine.
_UNSTARTED = "f" * 32


def created(stack: Stack, _: Any, import_id: str = _ID) -> Mapping[str, str]:
    """Upload the ZIP and create its row. Its machine does not start: that takes STEP_FUNCTION."""
    s3, bucket = stack.client("s3"), stack.outputs["ImportsBucket"]
    put = s3.put_object(Bucket=bucket, Key=_KEY, Body=archive(File(b"PRODUCT_1.csv"), File(b"PRODUCT_2.csv")))
    texts = {"pk": f"TENANT#{_TENANT}", "sk": f"IMPORT#{import_id}", "kind": "import", "tenant_code": _TENANT}
    texts |= {"import_id": import_id, "status": "CREATED", "processing_mode": "DIRECT", "key": _KEY, "type": "PRODUCT"}
    texts |= {"version_id": put["VersionId"], "first_import_id": import_id}
    # The sweep ends a ZIP that has been open for too long.
    texts |= dict.fromkeys(("open_since", "created_at"), datetime.now(UTC).isoformat())
    item: Any = {name: {"S": value} for name, value in texts.items()}
    item |= {"options": {"M": {}}, "validated": {"BOOL": False}, "round": {"N": "1"}}
    stack.dynamodb.put_item(TableName=stack.outputs["ImportsTable"], Item=item)
    return {}


def unzipped(stack: Stack, event: Any) -> Mapping[str, str]:
    created(stack, event)
    invoked(stack, "Unzip", _JOB)
    return {}


def unstarted(stack: Stack, event: Any) -> Mapping[str, str]:
    return created(stack, event, _UNSTARTED)


def status(stack: Stack, import_id: str = _ID) -> Any:
    row = stack.row("ImportsTable", pk=f"TENANT#{_TENANT}", sk=f"IMPORT#{import_id}")
    return row["status"] if row else None


def status_of_unstarted(stack: Stack) -> Any:
    return status(stack, _UNSTARTED)


def parent(stack: Stack) -> Any:
    """The ZIP that the first child names."""
    row = stack.row("ImportsTable", pk=f"TENANT#{_TENANT}", sk=f"IMPORT#{_ID}-0001")
    return row["parent_id"] if row else None


_FAILED = {"status": "FAILED"}

EXPECTED: dict[str, Expected] = {
    "follow_imports_zip": Expected({"batchItemFailures": []}),
    "import_action_zip": Expected({"batchItemFailures": []}, given=created, leaves={status: "CREATED"}),
    "stop_import_zip": Expected({"import_id": _ID, "status": "CREATED"}, given=created, leaves={status: "CREATED"}),
    # The files of a ZIP share ImportMaxConcurrency, which is 5 by default.
    "unzip": Expected({"items": [1, 2], "parallel": 5}, given=created, leaves={status: "PROCESSING"}),
    "trigger_single_csv": Expected(None, given=unzipped, leaves={parent: _ID}),
    "finalize_zip_job": Expected(_FAILED, given=unzipped, leaves={status: "FAILED", parent: None}),
    "zip_ended": Expected(None, given=unzipped, leaves={status: "FAILED", parent: None}),
    "sweep_zips": Expected({"open": 1, "failed": 0}, given=unstarted, leaves={status_of_unstarted: "CREATED"}),
}
