"""Tasks' calls of Lambda, SNS and Step Functions, and the meaning of their errors."""

import io
import json
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError

from tasks.errors import AlertUnsent, JobFailed, JobUnfinished
from tasks.registered import ChecksumObject, ObjectItem
from tasks.state import TaskKey
from tasks.types import Run
from tests.kit.commands import error
from tests.kit.tasks import TaskWorld
from tests.unit.dynamodb import Clock

ITEM = ObjectItem("jobs", "a.bin")
SUMMARY = {"sha256": "5891b5b5", "size": 6, "lines": 1}


class Lambda:
    """A Lambda client with these answers in turn: a body, the error of a function, or an error of the call."""

    def __init__(self, *answers: Any) -> None:
        self.answers, self.jobs = [*answers], set[str]()

    def invoke(self, *, Payload: str, **_: str) -> Any:
        self.jobs.add(json.loads(Payload)["JobId"])
        answer = self.answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        failed = {"FunctionError": "Unhandled"} if isinstance(answer, dict) and "sha256" not in answer else {}
        return {"Payload": io.BytesIO(json.dumps(answer).encode()), **failed}


def run(client: Lambda) -> dict[str, Any]:
    clock = Clock()
    handler = ChecksumObject(client, "RunJob", clock, clock.sleep)
    return handler(ITEM, Run("key-1", clock() + timedelta(seconds=60)))


def test_job_in_progress_is_polled_again() -> None:
    client = Lambda(None, None, SUMMARY)

    assert run(client) == {"sha256": "5891b5b5", "size": 6}
    assert client.jobs == {"key-1"}


def test_slow_job_is_left_to_the_next_attempt() -> None:
    with pytest.raises(JobUnfinished):
        run(Lambda(*[None] * 100))


@pytest.mark.parametrize("kind", ["ObjectNotReadable", "InvalidJob"])
def test_permanently_failed_job_fails_the_item(kind: str) -> None:
    with pytest.raises(JobFailed, match=rf"^{kind}: jobs/a.bin: NoSuchKey"):
        run(Lambda({"errorType": kind, "errorMessage": "jobs/a.bin: NoSuchKey"}))


@pytest.mark.parametrize(
    "answer",
    [
        {"errorType": "ReadBrokenOff", "errorMessage": "-"},
        {"errorMessage": "Task timed out"},
        error("TooManyRequestsException", 429),
        error("ServiceException", 500),
        ReadTimeoutError(endpoint_url="-"),
    ],
    ids=str,
)
def test_any_other_error_is_retried(answer: Any) -> None:
    with pytest.raises(JobUnfinished):
        run(Lambda(answer))


def test_missing_permission_is_a_defect() -> None:
    with pytest.raises(ClientError):
        run(Lambda(error("AccessDeniedException", 403)))


@pytest.mark.parametrize(
    "failure", [error("Throttled"), error("InternalError", 500), ReadTimeoutError(endpoint_url="-")]
)
def test_alarm_not_accepted_by_sns_is_not_raised(world: TaskWorld, failure: Exception) -> None:
    key = world.create("a")
    world.start(key)
    world.topic.fails = failure
    with pytest.raises(AlertUnsent):
        world.finish(key, died="Execution.ABORTED")

    assert world.task(key).open_since


def test_execution_name_matches_the_contract() -> None:
    name = TaskKey("tenant1", "task-1").execution(2)

    # printf 'tenant1\ntask-1' | sha256sum
    assert name == "7487effd8ad8c1339c7a0f141aedbbd990bad535-2"
