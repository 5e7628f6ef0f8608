"""The shape of every handler: the function's input, the log lines, the caller's view of an error."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError

from idempotency import BusinessError
from runtime.environment import InvalidEnvironment
from runtime.handler import Call, UnexpectedFailure, handler
from runtime.validation import InvalidEvent

STANDARD_FIELDS = {*vars(logging.makeLogRecord({})), "message", "asctime"}
DENIED = ClientError({"Error": {"Code": "AccessDenied", "Message": "tok_visa"}}, "PutItem")
UNSET = InvalidEnvironment("TABLE is not set")


class InvalidJob(BusinessError): ...


@dataclass(frozen=True)
class Context:
    aws_request_id: str = "request-1"

    def get_remaining_time_in_millis(self) -> int:
        return 15_000


@dataclass(frozen=True)
class Job:
    job_id: str
    secret: str = "tok_visa"


def parse(event: Any) -> Job:
    if "job_id" not in event:
        raise InvalidJob("job_id: missing")
    return Job(event["job_id"])


def outcome(error: Exception) -> Exception:
    """The caller's view of an error."""

    @handler(parse, ids=("job_id",))
    def run_job(job: Job, call: Call) -> None:
        raise error

    with pytest.raises(type(error) if type(error) in (InvalidJob, InvalidEvent) else UnexpectedFailure) as caught:
        run_job({"job_id": "j-1"}, Context())
    return caught.value


@pytest.fixture
def lines(caplog: pytest.LogCaptureFixture) -> Callable[[], list[tuple[str, str, Mapping[str, Any]]]]:
    """Level, message and fields of each line."""
    caplog.set_level(logging.DEBUG)

    def read() -> list[tuple[str, str, Mapping[str, Any]]]:
        fields = [
            {name: vars(one)[name] for name in vars(one) if name not in STANDARD_FIELDS} for one in caplog.records
        ]
        return [(one.levelname, one.message, more) for one, more in zip(caplog.records, fields, strict=True)]

    return read


@handler(parse, ids=("job_id",))
def run_job(job: Job, call: Call) -> tuple[Job, Call]:
    """Run the job."""
    return job, call


def test_function_gets_the_parsed_event_and_its_call() -> None:
    event, before = {"job_id": "j-1"}, datetime.now(UTC)
    job, call = run_job(event, Context())

    assert (job, call.aws_request_id) == (Job("j-1"), "request-1")
    assert call.event is event
    assert before <= call.at <= datetime.now(UTC)
    assert timedelta(seconds=14) < call.deadline - call.at < timedelta(seconds=16)


def test_handler_keeps_the_name_and_the_docstring_of_its_function() -> None:
    assert (run_job.__name__, run_job.__doc__) == ("run_job", "Run the job.")


def test_entry_and_success_lines_carry_only_the_ids(lines: Any) -> None:
    run_job({"job_id": "j-1"}, Context())
    (entry, success) = lines()

    assert entry == ("INFO", "started", {"task": "run_job", "job_id": "j-1"})
    assert success[:2] == ("INFO", "done")
    assert success[2].keys() == {"task", "job_id", "duration_ms"}


def test_refused_event_logs_an_outcome_and_no_entry(lines: Any) -> None:
    with pytest.raises(InvalidJob, match="job_id: missing"):
        run_job({}, Context())
    ((level, message, fields),) = lines()

    assert (level, message) == ("WARNING", "refused or failed")
    assert fields.items() >= {"task": "run_job", "error": "InvalidJob", "reason": "job_id: missing"}.items()


@pytest.mark.parametrize("error", [InvalidJob("key: missing"), InvalidEvent("detail: missing")], ids=repr)
def test_custom_error_passes_unchanged_and_is_logged(lines: Any, error: Exception) -> None:
    assert outcome(error) is error

    (_, (level, message, fields)) = lines()
    assert (level, message) == ("WARNING", "refused or failed")
    assert (fields["error"], fields["reason"]) == (type(error).__name__, str(error))
    assert fields["duration_ms"] >= 0


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (ValueError("tok_visa"), "ValueError"),
        (DENIED, f"AccessDenied of {DENIED.operation_name}"),
        (UNSET, "InvalidEnvironment: TABLE is not set"),
    ],
    ids=repr,
)
def test_foreign_error_keeps_its_name_and_loses_its_message(lines: Any, error: Exception, named: str) -> None:
    seen = outcome(error)

    assert (str(seen), seen.__cause__, seen.__suppress_context__) == (named, None, True)
    (_, (level, message, fields)) = lines()
    assert (level, message, fields["error"]) == ("ERROR", "unexpected", named)
    assert "test_handler.py" in fields["at"][-1]
    assert "tok_visa" not in repr(lines())
