"""Imports files of users: upload, start, follow, fetch the result. The same for the local stack and for AWS."""

import json
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from user_import.bucket import date_in_name
from user_import.results import Result, read

from .causes import message_of
from .errors import CommandError, StillRunning
from .orders import execution_arn, patiently
from .stack import Stack
from .values import in_key

OUTPUT = "UserImportArn"
_ROW_FAILED = "RowFailed"
# The states that write a result, and the path of its key in their output.
_WRITES = {
    "ResultCsvFileCreate": ("result_csv_file_create", "key"),
    "RegisterResult": ("register_result", "result_key"),
}
# The state machine's timeout.
_MAX_SECONDS = 14_400


class ImportFailed(CommandError):
    """The import as a whole failed; the message says why. result_key: key of the result file, if it got that far."""

    result_key: str = ""


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of an import.

    state: the execution's current state. total: rows to run, None until known. failed: how many of those done failed.
    """

    status: str = "RUNNING"
    state: str = ""
    total: int | None = None
    done: int = 0
    failed: int = 0


@dataclass(frozen=True, slots=True)
class Summary:
    """RegisterResult's summary. run: rows that ran this time; the others had succeeded before."""

    import_id: str
    file: str
    validate_only: bool
    rows: int
    run: int
    succeeded: int
    failed: int
    result_key: str
    result_version_id: str


def start(stack: Stack, file: Path, **options: Any) -> str:
    """Upload a file to a place where uploads start nothing, and start its import. Returns the execution's name.

    options: fields of the workflow's input, except key and version_id.
    """
    key = _key(stack, file, datetime.now(UTC))
    put = stack.client("s3").put_object(Bucket=stack.outputs["UsersBucket"], Key=key, Body=file.read_bytes())
    document = {"key": key, "version_id": put["VersionId"], **options}
    name = f"manual-{uuid.uuid4()}"
    stack.stepfunctions.start_execution(
        stateMachineArn=stack.outputs[OUTPUT], name=name, input=json.dumps(document, sort_keys=True)
    )
    return name


def follow(stack: Stack, name: str) -> Iterator[Progress]:
    """Yield the import's progress until it has ended. Raises StillRunning."""
    arn, progress, seen = execution_arn(stack, name, output=OUTPUT), Progress(), 0
    for _ in patiently(_MAX_SECONDS):
        status = stack.stepfunctions.describe_execution(executionArn=arn)["status"]
        events = _events_after(stack, arn, seen)
        for event in events:
            progress = moved(progress, event)
        seen = max([seen, *(event["id"] for event in events)])
        progress = replace(progress, status=status)
        yield progress
        if status != "RUNNING":
            return
    raise StillRunning(f"import {name} is still running, and continues without this command")


def summary(stack: Stack, name: str) -> Summary:
    """Return the summary of an import that has ended. Raises ImportFailed."""
    arn = execution_arn(stack, name, output=OUTPUT)
    ended = stack.stepfunctions.describe_execution(executionArn=arn)
    if ended["status"] == "SUCCEEDED":
        return Summary(**json.loads(ended["output"]))
    reason = message_of(ended.get("cause", "")) or f"the import {name} was {ended['status']}"
    failed = ImportFailed(f"{ended.get('error', ended['status'])}: {reason}")
    failed.result_key = _written(stack, arn)
    raise failed


def _written(stack: Stack, arn: str) -> str:
    """Return the key of the result file that an import wrote last; "" if it wrote none.

    If a newer import owns the key that CountCsvFiles names, the result has another one.
    """
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(executionArn=arn, reverseOrder=True)
    for event in (event for page in pages for event in page["events"]):
        left = event.get("stateExitedEventDetails", {})
        if left.get("name") in _WRITES:
            name, field = _WRITES[left["name"]]
            # A failed state was left, too, without a result.
            if key := json.loads(left["output"]).get(name, {}).get("result", {}).get(field):
                return str(key)
    return ""


def result_file(stack: Stack, ended: Summary) -> bytes:
    """Return the result file, as this import wrote it."""
    answer = stack.client("s3").get_object(
        Bucket=stack.outputs["UsersBucket"], Key=ended.result_key, VersionId=ended.result_version_id
    )
    return bytes(answer["Body"].read())


def results(stack: Stack, ended: Summary) -> list[Result]:
    """Return the rows of the result file."""
    return read(result_file(stack, ended))


def key_of(text: str) -> str:
    """Return the key of the file in an import's input; empty for the newest one in the bucket."""
    document = json.loads(text or "{}")
    return str(document.get("key") or "") if isinstance(document, dict) else ""


def _key(stack: Stack, file: Path, now: datetime) -> str:
    """Build the key of a file: with its own date, if its name has one; otherwise today, in a separate folder."""
    prefix = stack.parameters["UserFilePrefix"]
    if date_in_name(file.name, prefix):
        return f"manual/{file.name}"
    return f"manual/{in_key(file.stem)}/{prefix}{now:%Y%m%d}.csv"


def _events_after(stack: Stack, arn: str, seen: int) -> list[Any]:
    """Return the events of an execution after the one with this id, oldest first."""
    new: list[Any] = []
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(
        executionArn=arn, reverseOrder=True, includeExecutionData=False, PaginationConfig={"PageSize": 1000}
    )
    for page in pages:
        new.extend(event for event in page["events"] if event["id"] > seen)
        if not page["events"] or page["events"][-1]["id"] <= seen:
            break
    return new[::-1]


def moved(progress: Progress, event: Any) -> Progress:
    """Return the import's progress after an event of its history."""
    match event["type"]:
        case "MapStateStarted":
            return replace(progress, total=event["mapStateStartedEventDetails"]["length"])
        case "MapIterationSucceeded":
            return replace(progress, done=progress.done + 1)
        case "PassStateEntered" if event["stateEnteredEventDetails"]["name"] == _ROW_FAILED:
            return replace(progress, failed=progress.failed + 1)
        case kind if kind.endswith("StateEntered"):
            return replace(progress, state=event["stateEnteredEventDetails"]["name"])
    return progress
