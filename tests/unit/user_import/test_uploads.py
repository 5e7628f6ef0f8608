"""The start of an import by an upload: once for each upload, and no event is lost silently."""

import json
from collections.abc import Iterator

import boto3
import pytest
from botocore.stub import Stubber

from runtime.machine import Machine
from user_import.errors import UploadNameInvalid
from user_import.uploads import Uploads, execution_name

MACHINE = "arn:aws:states:us-east-1:000000000000:stateMachine:user-import"
KEY = "TestFile_20261121.csv"
NAME = execution_name("bucket", KEY, "v1", "20261121")
REQUEST = {
    "stateMachineArn": MACHINE,
    "name": NAME,
    "input": json.dumps({"key": KEY, "version_id": "v1"}, separators=(",", ":")),
}


@pytest.fixture
def states() -> Iterator[Stubber]:
    """A Step Functions client that fails the test on an unexpected call."""
    client = boto3.client("stepfunctions", region_name="us-east-1", aws_access_key_id="a", aws_secret_access_key="b")
    with Stubber(client) as stubber:
        yield stubber
        stubber.assert_no_pending_responses()


def start(states: Stubber, key: str) -> str:
    return Uploads(Machine(lambda: states.client, MACHINE), "TestFile_").start("bucket", key, "v1")


def test_upload_starts_its_import(states: Stubber) -> None:
    states.add_response("start_execution", {"executionArn": "arn", "startDate": 0}, REQUEST)

    assert start(states, KEY) == NAME


def test_duplicate_upload_event_starts_one_import(states: Stubber) -> None:
    states.add_client_error("start_execution", "ExecutionAlreadyExists", expected_params=REQUEST)

    assert start(states, KEY) == NAME


@pytest.mark.parametrize(
    "key",
    ["TestFile_2026-11-21.csv", "TestFile_20261131.csv", "TestFile_latest.csv", "TestFile_20261121 (1).csv"],
)
def test_unmatched_upload_is_an_error(states: Stubber, key: str) -> None:
    with pytest.raises(UploadNameInvalid, match=r"must end in TestFile_<yyyymmdd>\.csv"):
        start(states, key)
