"""The request of a job: from a caller or from an S3 event."""

import uuid
from typing import Annotated, Any

from msgspec import Meta, Struct

from idempotency import BusinessError
from runtime.validation import parser

_NAMESPACE = uuid.uuid5(uuid.NAMESPACE_URL, "stepwise/jobs")


class InvalidJob(BusinessError):
    """The event is not a valid job. The message names the field; nothing was started."""


class Job(Struct, frozen=True):
    """One object to read, once for each job_id.

    version_id: the object's version; None for the current version when the job runs.
    """

    job_id: str
    bucket: str
    key: str
    version_id: str | None = None


class _Request(Struct, forbid_unknown_fields=True):
    JobId: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,128}\Z")]
    ObjKey: Annotated[str, Meta(pattern=r"^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]/.{1,1024}\Z")]


class _Bucket(Struct):
    name: str


class _Object(Struct, rename="kebab"):
    key: str
    etag: str
    sequencer: str
    version_id: str | None = None


class _Detail(Struct):
    bucket: _Bucket
    object: _Object


class _Event(Struct):
    detail: _Detail


_parse_request = parser(_Request, InvalidJob, "the job")
_parse_event = parser(_Event, InvalidJob, "the job")


def parse_job(event: Any) -> Job:
    """Read `{"JobId": ..., "ObjKey": "bucket/key"}`, or an event *Object Created* of S3.

    An event's job id derives from the object's version, so a duplicate event is one job.
    Raises InvalidJob.
    """
    try:
        if isinstance(event, dict) and "detail" in event:
            return _created(_parse_event(event).detail)
        return _requested(_parse_request(event))
    except UnicodeEncodeError:
        raise InvalidJob("the job: a field's name is not valid Unicode") from None


def _requested(request: _Request) -> Job:
    bucket, _, key = request.ObjKey.partition("/")
    # S3 keys are UTF-8.
    key.encode()
    return Job(request.JobId, bucket, key)


def _created(detail: _Detail) -> Job:
    written = detail.object
    version = written.version_id or f"{written.etag}/{written.sequencer}"
    job_id = str(uuid.uuid5(_NAMESPACE, f"{detail.bucket.name}/{written.key}/{version}"))
    return Job(job_id, detail.bucket.name, written.key, written.version_id)
