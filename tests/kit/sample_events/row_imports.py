"""Expected results of the sample events of imports of rows, and the state that each needs."""

import uuid
from collections.abc import Mapping
from typing import Any

from imports.loading import PLAN
from stepwise.operations.stack import Stack
from tests.kit.project import ROOT, read_json
from tests.kit.sample_events.expected import Expected, invoked

_EVENTS = ROOT / "events" / "imports"
_JOB = read_json(_EVENTS / "csv_loader.json")
_ID, _TENANT = _JOB["import_id"], _JOB["tenant_code"]
_ROW, _ = (one["dynamodb"]["NewImage"] for one in read_json(_EVENTS / "follow_imports.json")["Records"])
_KEY = _ROW["key"]["S"]
# The rows that csv_rows_handler.json points to: the first is valid.
_FILE = b"code,name,category,price,currency\r\ntea-01,Sencha tea1,tea,1500,JPY\ntea-02,Cha green t,tea,x,JPY\n"


def uploaded(stack: Stack, _: Any) -> Mapping[str, str]:
    """Upload the file."""
    _put(stack, _KEY)
    return {}


def created(stack: Stack, _: Any, import_id: str = _ID) -> Mapping[str, str]:
    """Create the import's row, without a machine."""
    version = _put(stack, _KEY)
    item = {**_ROW, "version_id": {"S": version}, "processing_mode": {"S": "DIRECT"}}
    own = {"S": import_id}
    item |= {"sk": {"S": f"IMPORT#{import_id}"}, "import_id": own, "first_import_id": own}
    stack.dynamodb.put_item(TableName=stack.outputs["ImportsTable"], Item=item)
    return {}


def ended(stack: Stack, event: Any) -> Mapping[str, str]:
    """Create a finished import whose second row was refused."""
    replaced = loaded_as_another(stack, event)
    batch = read_json(_EVENTS / "csv_rows_handler.json")
    invoked(stack, "CsvRowsHandler", {**batch, "BatchInput": {"import_id": replaced[_ID]}})
    invoked(stack, "FinalizeParentJob", {**_JOB, "import_id": replaced[_ID]})
    return replaced


def loaded(stack: Stack, event: Any, import_id: str = _ID) -> Mapping[str, str]:
    created(stack, event, import_id)
    invoked(stack, "CsvLoader", {**_JOB, "import_id": import_id})
    return {}


def loaded_as_another(stack: Stack, event: Any) -> Mapping[str, str]:
    """Load an import with a new id: a warm CsvRowsHandler remembers the plan of an earlier one."""
    import_id = uuid.uuid4().hex
    loaded(stack, event, import_id)
    return {_ID: import_id}


def in_upload_folder(stack: Stack, event: Any) -> Mapping[str, str]:
    """Upload the event's object to the stack's bucket."""
    version = _put(stack, event["detail"]["object"]["key"])
    return {event["detail"]["bucket"]["name"]: stack.outputs["ImportsBucket"], "version-1": version}


def _put(stack: Stack, key: str) -> str:
    answer = stack.client("s3").put_object(Bucket=stack.outputs["ImportsBucket"], Key=key, Body=_FILE)
    return str(answer["VersionId"])


def status(stack: Stack) -> Any:
    row = stack.row("ImportsTable", pk=f"TENANT#{_TENANT}", sk=f"IMPORT#{_ID}")
    return row["status"] if row else None


def stored(stack: Stack) -> Any:
    """The version of the first row's product."""
    row = stack.row("DataTable", pk=f"TENANT#{_TENANT}", sk="PRODUCT#tea-01")
    return int(row["version"]) if row else None


def planned(stack: Stack) -> Any:
    """Returns True if the loader wrote the plan."""
    listed = stack.client("s3").list_objects_v2(Bucket=stack.outputs["ImportsBucket"], Prefix=f"work/{_ID}/")
    return any(one["Key"].endswith(PLAN) for one in listed.get("Contents", []))


_PARTLY = {"status": "COMPLETED_WITH_FAILURES", "processing_mode": "DIRECT"}
_COUNTS = {"processed_rows": 2, "succeeded_rows": 1, "failed_rows": 1}

_CREATED = {"import_id": ..., **_PARTLY}

EXPECTED: dict[str, Expected] = {
    "create_import": Expected(_CREATED, again=_CREATED, given=uploaded, leaves={stored: 1}),
    "create_import_invalid": Expected(error="InvalidImport", leaves={stored: None}),
    # The row that the first import stored counts.
    "create_import_retry": Expected(_PARTLY, again=_PARTLY, given=ended, leaves={stored: 1}),
    "create_import_upload": Expected(_PARTLY, given=in_upload_folder, leaves={stored: 1}),
    "csv_loader": Expected({"status": "PROCESSING", "rows": 2}, given=created, leaves={planned: True}),
    "csv_rows_handler": Expected(_COUNTS, given=loaded_as_another, leaves={stored: 1}),
    "finalize_parent_job": Expected({"status": "FAILED"}, given=loaded, leaves={status: "FAILED", stored: None}),
    "follow_imports": Expected({"batchItemFailures": []}),
    "notify_imports": Expected({"batchItemFailures": []}),
    "import_action": Expected({"batchItemFailures": []}, given=created, leaves={status: "CREATED"}),
    "stop_import": Expected({"import_id": _ID, "status": "CREATED"}, given=created, leaves={status: "CREATED"}),
    "import_ended": Expected({"status": "FAILED"}, given=created, leaves={status: "FAILED", stored: None}),
    "sweep_imports": Expected({"ended": 1}, again={"ended": 0}, given=created, leaves={status: "FAILED"}),
}
