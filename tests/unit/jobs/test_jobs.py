"""The request of a job, and its result for an object."""

import hashlib
import itertools
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ClientError, ReadTimeoutError
from hypothesis import given
from hypothesis import strategies as st

from jobs.requests import InvalidJob, Job, parse_job
from jobs.running import RUN_JOB, Jobs, ObjectNotReadable, ReadBrokenOff
from tests.kit.project import ROOT, read_json

REQUEST = read_json(ROOT / "events/jobs" / "run_job.json")
CREATED = read_json(ROOT / "events/jobs" / "run_job_object_created.json")
JOB = Job("12345", "bucket", "smallfile")
# https://docs.aws.amazon.com/lambda/latest/dg/invocation-async-error-handling.html: "one minute before the first retry"
FIRST_RETRY = timedelta(minutes=1)


class Body:
    def __init__(self, chunks: list[bytes], error: Exception | None = None) -> None:
        self._chunks, self._error = chunks, error

    def iter_chunks(self, _: int) -> Any:
        yield from self._chunks
        if self._error:
            raise self._error


class Bucket:
    """An S3 client with one object, or one error."""

    def __init__(self, body: Body | ClientError) -> None:
        self.body = body
        self.asked: list[dict[str, Any]] = []

    def get_object(self, **parameters: Any) -> Any:
        self.asked.append(parameters)
        if isinstance(self.body, ClientError):
            raise self.body
        return {"Body": self.body}


def edited(event: Any, **of_the_object: str) -> Any:
    detail = event["detail"]
    return {**event, "detail": {**detail, "object": {**detail["object"], **of_the_object}}}


def refused(code: str) -> ClientError:
    return ClientError({"Error": {"Code": code, "Message": code}}, "GetObject")


def run(bucket: Bucket, job: Job = JOB) -> dict[str, Any]:
    return Jobs(bucket).run(job, still_alive=lambda: None)


def test_request_names_the_job_and_the_object() -> None:
    assert parse_job(REQUEST) == JOB


@pytest.mark.parametrize(
    "event",
    [
        REQUEST | {"ObjKey": "bucket/\ud800"},
        REQUEST | {"JobId": "\ud800"},
        REQUEST | {"\ud800": 1},
        edited(CREATED, key="\ud800"),
        edited(CREATED, **{"version-id": "\ud800"}),
    ],
    ids=["key", "id", "field", "key of an event", "version of an event"],
)
def test_lone_surrogate_is_not_a_job(event: Any) -> None:
    with pytest.raises(InvalidJob):
        parse_job(event)


def test_key_may_hold_slashes() -> None:
    assert parse_job({"JobId": "1", "ObjKey": "bucket/a/b c"}).key == "a/b c"


@pytest.mark.parametrize(
    ("request_", "field"),
    [
        ({"JobId": "1"}, "ObjKey"),
        ({"ObjKey": "bucket/key"}, "JobId"),
        (REQUEST | {"JobId": ""}, "JobId"),
        (REQUEST | {"JobId": "a b"}, "JobId"),
        (REQUEST | {"JobId": "1\n"}, "JobId"),
        (REQUEST | {"JobId": 12345}, "JobId"),
        (REQUEST | {"JobId": None}, "JobId"),
        (REQUEST | {"ObjKey": "bucket"}, "ObjKey"),
        (REQUEST | {"ObjKey": "bucket/"}, "ObjKey"),
        (REQUEST | {"ObjKey": "/key"}, "ObjKey"),
        (REQUEST | {"ObjKey": "BUCKET/key"}, "ObjKey"),
        (REQUEST | {"more": 1}, "more"),
        ([], "the job"),
        (None, "the job"),
        ({"detail": {}}, "detail"),
        ({"detail": {"bucket": {"name": "b"}, "object": {"etag": "e", "sequencer": "s"}}}, "detail.object"),
    ],
)
def test_invalid_request_names_its_field(request_: Any, field: str) -> None:
    with pytest.raises(InvalidJob, match=field):
        parse_job(request_)


def test_s3_event_is_a_job_for_the_object_version() -> None:
    job = parse_job(CREATED)

    assert (job.bucket, job.key, job.version_id) == ("bucket", "smallfile", "IYV3p45BT0ac8hjHg1houSdS1a.Mro8e")
    assert parse_job(CREATED | {"id": "another delivery"}) == job


def test_other_version_is_another_job() -> None:
    written_again = CREATED["detail"]["object"] | {"version-id": "other"}
    again = CREATED | {"detail": CREATED["detail"] | {"object": written_again}}

    assert parse_job(again).job_id != parse_job(CREATED).job_id


def test_without_versions_each_write_is_a_job() -> None:
    unversioned = {key: value for key, value in CREATED["detail"]["object"].items() if key != "version-id"}
    ids = {
        parse_job({"detail": {"bucket": {"name": "b"}, "object": unversioned | {"sequencer": sequencer}}}).job_id
        for sequencer in ("1", "2", "2")
    }

    assert len(ids) == 2


@given(st.binary(max_size=200), st.lists(st.integers(0, 200), max_size=5))
def test_summary_does_not_depend_on_the_chunks(content: bytes, cuts: list[int]) -> None:
    edges = [0, *sorted(min(cut, len(content)) for cut in cuts), len(content)]
    parts = [content[a:b] for a, b in itertools.pairwise(edges) if content[a:b]]
    found = run(Bucket(Body(parts)))

    assert found["size"] == len(content)
    assert found["sha256"] == hashlib.sha256(content).hexdigest()
    assert found["lines"] == len(content.split(b"\n")) - (content.endswith(b"\n") or not content)


def test_named_version_is_read() -> None:
    bucket = Bucket(Body([b"a"]))
    run(bucket, parse_job(CREATED))

    assert bucket.asked == [{"Bucket": "bucket", "Key": "smallfile", "VersionId": "IYV3p45BT0ac8hjHg1houSdS1a.Mro8e"}]


@pytest.mark.parametrize("code", ["NoSuchKey", "NoSuchBucket", "NoSuchVersion", "AccessDenied", "KeyTooLongError"])
def test_permanently_unreadable_object_is_final(code: str) -> None:
    with pytest.raises(ObjectNotReadable, match=f"bucket/smallfile: {code}"):
        run(Bucket(refused(code)))


@pytest.mark.parametrize("code", ["SlowDown", "InternalError", "RequestTimeout"])
def test_s3_failures_are_transient(code: str) -> None:
    with pytest.raises(ReadBrokenOff, match=code):
        run(Bucket(refused(code)))


def test_interrupted_stream_may_be_read_again() -> None:
    broken = Body([b"half"], ReadTimeoutError(endpoint_url="s3"))
    with pytest.raises(ReadBrokenOff):
        run(Bucket(broken))


def test_lease_is_extended_while_the_object_is_read() -> None:
    beats: list[int] = []
    Jobs(Bucket(Body([b"1", b"2", b"3"]))).run(JOB, still_alive=lambda: beats.append(1))

    assert len(beats) == 3


def test_lease_of_a_crashed_worker_expires_before_lambda_retries() -> None:
    assert RUN_JOB.duration is not None
    assert RUN_JOB.duration + timedelta(seconds=1) < FIRST_RETRY
