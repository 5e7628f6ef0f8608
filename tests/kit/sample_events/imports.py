"""The setup of an import's events: a user file, an Amazon Connect instance, an earlier result."""

import time
import uuid
from collections.abc import Mapping
from typing import Any

from stepwise.operations import orders
from stepwise.operations.stack import Stack
from tests.kit.project import ROOT, read_json
from tests.kit.sample_events.expected import Expected, invoked
from user_import.csv_file import REQUIRED_COLUMNS

# From the sample events.
KEY, RESULT_KEY = "TestFile_20261121.csv", "UserCreateResult_20261121.csv"
_VERSION, _RESULT_VERSION = "3HL4kqtJlcpXroDTDmJ", "Yd7bGkz8WqW3QvhoXmZp"
_INSTANCE = "12345678-1234-1234-1234-123456789012"
_BUCKET = "stepwise-usersbucket"
_PROFILES = {
    ("security", "Agent"): "5c1d8fe2-55b1-4d9a-8f3e-0f0f3f5e9f01",
    ("routing", "Basic Routing Profile"): "a1f9b8a4-4f2f-4a9d-9c55-4b2e3f1d7c02",
}
ROWS = ["1:52:61", "2:115:58"]
_CHECKS = 100


def file_of_users() -> bytes:
    """A file of two rows, with the lengths in ROWS."""
    rows = [f"{number},{uuid.uuid4().hex[:12]},Passw0rd,Taro," for number in (1, 2)]
    padded = [row.ljust(int(pointer.split(":")[2]), "y") for row, pointer in zip(rows, ROWS, strict=True)]
    return "\r\n".join([",".join(REQUIRED_COLUMNS), *padded, ""]).encode()


def uploaded(stack: Stack, _: Any) -> Mapping[str, str]:
    """Upload the file without starting an import."""
    bucket = stack.outputs["UsersBucket"]
    put = stack.client("s3").put_object(Bucket=bucket, Key=KEY, Body=file_of_users())
    return {_VERSION: put["VersionId"], _BUCKET: bucket}


def with_instance(stack: Stack, event: Any) -> Mapping[str, str]:
    """Create the stack's instance as well, and wait until it is ready."""
    replaced = uploaded(stack, event)
    plan = {"source": {"key": KEY, "version_id": replaced[_VERSION]}}
    call = {"import_id": str(uuid.uuid4()), "plan": plan}
    instance = invoked(stack, "CreateInstance", call)["instance_id"]
    check = {"instance_id": instance, "checks": 0}
    for _ in range(_CHECKS):
        if invoked(stack, "CheckInstanceExistence", check)["status"] == "READY":
            return {**replaced, _INSTANCE: instance}
        time.sleep(0.2)
    raise TimeoutError("the instance did not get ready")


def with_profiles(stack: Stack, event: Any) -> Mapping[str, str]:
    """Look up the ids of the instance's profiles as well."""
    replaced = with_instance(stack, event)
    plan = {"source": {"key": KEY, "version_id": replaced[_VERSION]}}
    counted = invoked(stack, "CountCsvFiles", {"plan": plan, "instance_id": replaced[_INSTANCE]})
    real = {sample: counted["profiles"][kind][name] for (kind, name), sample in _PROFILES.items()}
    return {**replaced, **real}


def with_result(stack: Stack, event: Any) -> Mapping[str, str]:
    """Store the result of an earlier import of the file, which left the outcome of every row unknown."""
    replaced = uploaded(stack, event)
    written = invoked(
        stack, "ResultCsvFileCreate", read_json(ROOT / "events/user_import" / "result_csv_file_create.json")
    )
    return {**replaced, _RESULT_VERSION: written["version_id"]}


def imports(stack: Stack) -> set[str]:
    """The statuses of the started imports."""
    machine = stack.outputs["UserImportArn"]
    started = stack.stepfunctions.list_executions(stateMachineArn=machine)["executions"]
    return {orders.ended(stack, one["name"], seconds=300, output="UserImportArn").status for one in started}


# Each import has its own time in `began`.
_VALIDATED = {"validate_only": True, "instance_id": None, "began": ...}
_NEWEST = {"validate_only": False, "deleted": [], "began": ...}
_WRITTEN = {"key": RESULT_KEY}
_SUMMARY = {"file": KEY, "rows": 2, "succeeded": 1, "failed": 1, "result_key": RESULT_KEY}

EXPECTED: dict[str, Expected] = {
    "initialize": Expected(_VALIDATED, again=_VALIDATED, given=uploaded),
    "initialize_invalid": Expected(error="InvalidImport"),
    "initialize_newest": Expected(_NEWEST, again=_NEWEST, given=uploaded),
    "initialize_reset": Expected({"deleted": ...}, again={"deleted": ...}, given=with_instance),
    "create_instance": Expected({"instance_id": ...}, given=with_instance),
    "check_instance_existence": Expected({"status": "READY", "checks": 1}, given=with_instance),
    "count_csv_files": Expected({"rows": ROWS, "result_key": RESULT_KEY}, given=with_instance),
    "result_csv_file_create": Expected(_WRITTEN, again=_WRITTEN, given=uploaded),
    "result_csv_file_create_retry": Expected(_WRITTEN, again=_WRITTEN, given=with_result),
    "user_create": Expected(..., given=with_profiles),
    "register_result": Expected(_SUMMARY, again=_SUMMARY, given=uploaded),
    "register_result_retry": Expected(_SUMMARY, again=_SUMMARY, given=with_result),
    "start_user_import": Expected({"import_id": ...}, given=uploaded, leaves={imports: {"SUCCEEDED"}}),
}
