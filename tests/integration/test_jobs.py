"""Jobs on the deployed stack: started by a call and by S3, once and twice."""

import hashlib
import json
import uuid
from collections.abc import Callable
from typing import Any

import pytest

from jobs.requests import parse_job
from stepwise.operations.stack import Row, Stack
from tests.kit.belongings import OBJECTS, RUN, Belongings
from tests.kit.injection import Resources, eventually
from tests.kit.local_stack import Invocation

CONTENT = b"one\ntwo\nthree"

type Invoke = Callable[[str, Any], Invocation]


@pytest.fixture
def job_id(belongings: Belongings) -> str:
    name = f"{RUN}-{uuid.uuid4().hex}"
    belongings.job(name)
    return name


@pytest.fixture
def put(stack: Stack, belongings: Belongings) -> Callable[[bytes], str]:
    """Put an object, which starts a job. Returns its ObjKey."""

    def put_object(content: bytes) -> str:
        bucket, key = stack.outputs["JobsBucket"], f"{OBJECTS['JobsBucket']}{uuid.uuid4().hex}"
        version = stack.client("s3").put_object(Bucket=bucket, Key=key, Body=content)["VersionId"]
        belongings.upload(started_by(bucket, key, version))
        return f"{bucket}/{key}"

    return put_object


def started_by(bucket: str, key: str, version: str) -> str:
    """The job that S3 starts for a new object."""
    written = {"key": key, "version-id": version, "etag": "", "sequencer": ""}
    return parse_job({"detail": {"bucket": {"name": bucket}, "object": written}}).job_id


def record(stack: Stack, job_id: str) -> Row | None:
    return stack.row("IdempotencyTable", pk=f"{job_id}#RunJob")


def status(stack: Stack, job_id: str) -> object:
    row = record(stack, job_id)
    return row["status"] if row else None


def test_job_records_the_content_of_the_object(
    stack: Stack, invoke: Invoke, put: Callable[[bytes], str], job_id: str
) -> None:
    answer = invoke("RunJob", {"JobId": job_id, "ObjKey": put(CONTENT)}).result
    row = record(stack, job_id) or {}

    assert (answer["size"], answer["lines"]) == (13, 3)
    assert answer["sha256"] == hashlib.sha256(CONTENT).hexdigest()
    assert (row["status"], json.loads(row["result"])) == ("COMPLETED", answer)


def test_duplicate_gets_the_result_without_reading(
    stack: Stack, invoke: Invoke, put: Callable[[bytes], str], job_id: str
) -> None:
    request = {"JobId": job_id, "ObjKey": put(CONTENT)}
    first = invoke("RunJob", request)
    bucket, _, key = request["ObjKey"].partition("/")
    stack.client("s3").delete_object(Bucket=bucket, Key=key)

    assert invoke("RunJob", request).result == first.result


def test_uploaded_object_starts_its_job(stack: Stack, put: Callable[[bytes], str]) -> None:
    bucket, _, key = put(CONTENT).partition("/")
    version = stack.client("s3").head_object(Bucket=bucket, Key=key)["VersionId"]
    started = started_by(bucket, key, version)
    eventually(lambda: status(stack, started) == "COMPLETED")
    result = json.loads((record(stack, started) or {})["result"])

    assert (result["key"], result["version_id"], result["size"]) == (key, version, 13)


def test_permanently_failed_events_end_in_the_queue(stack: Stack, resources: Resources, job_id: str) -> None:
    event = json.dumps({"JobId": job_id, "ObjKey": f"{stack.outputs['JobsBucket']}/is-not-there"})
    stack.client("lambda").invoke(
        FunctionName=stack.outputs["RunJobFunctionArn"], InvocationType="Event", Payload=event
    )
    sqs, seen = stack.client("sqs"), []

    def received() -> bool:
        answer = sqs.receive_message(
            QueueUrl=resources["JobFailuresQueue"], MaxNumberOfMessages=10, VisibilityTimeout=0, WaitTimeSeconds=1
        )
        seen.extend(message["Body"] for message in answer.get("Messages", []))
        return any(job_id in body for body in seen)

    eventually(received)


def test_job_reads_only_its_own_bucket(stack: Stack, invoke: Invoke, job_id: str) -> None:
    other, key = stack.outputs["UsersBucket"], f"{OBJECTS['UsersBucket']}private"
    stack.client("s3").put_object(Bucket=other, Key=key, Body=b"private")
    answer = invoke("RunJob", {"JobId": job_id, "ObjKey": f"{other}/{key}"})

    assert (answer.error, answer.message) == ("ObjectNotReadable", f"{other}/{key}: AccessDenied")
