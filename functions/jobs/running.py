"""RunJob: computes size, checksum and line count of an S3 object, streamed in constant memory."""

import hashlib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from idempotency import BusinessError, TransientError, Unknown, Work

from .requests import Job

# Reading twice is harmless. Lambda retries an event at the earliest one minute after a worker crash. The crashed
# owner's lease must have expired by then, or the retry would end as a duplicate.
RUN_JOB = Work("RunJob", unknown=Unknown.RUN_AGAIN, duration=timedelta(seconds=30))
_CHUNK = 1024 * 1024
_FINAL = frozenset(
    {"AccessDenied", "InvalidObjectState", "MethodNotAllowed", "NoSuchBucket", "NoSuchKey", "NoSuchVersion"}
    # S3 limits bytes; the request's pattern limits characters.
    | {"KeyTooLongError"}
)


class ObjectNotReadable(BusinessError):
    """The object does not exist, or the function may not read it."""


class ReadBrokenOff(TransientError):
    """S3 failed or throttled, or the connection broke; the object can be read again from the start."""


@dataclass(frozen=True, slots=True)
class Jobs:
    """Runs jobs. client: a `boto3.client("s3")`."""

    client: Any

    def run(self, job: Job, *, still_alive: Callable[[], None]) -> dict[str, Any]:
        """Read the whole object.

        still_alive: called after each part. Returns size (bytes), sha256 (hex) and lines; a last line without a line
        feed counts. Raises ObjectNotReadable, ReadBrokenOff, and what `still_alive` raises.
        """
        found = _summary(self._chunks(job), still_alive)
        return {"job_id": job.job_id, "bucket": job.bucket, "key": job.key, "version_id": job.version_id, **found}

    def _chunks(self, job: Job) -> Iterator[bytes]:
        """Yield the object's bytes, in parts of up to 1 MiB. Raises ObjectNotReadable or ReadBrokenOff."""
        version = {"VersionId": job.version_id} if job.version_id else {}
        try:
            body = self.client.get_object(Bucket=job.bucket, Key=job.key, **version)["Body"]
            yield from body.iter_chunks(_CHUNK)
        except ClientError as error:
            code = error.response["Error"]["Code"]
            kind = ObjectNotReadable if code in _FINAL else ReadBrokenOff
            raise kind(f"{job.bucket}/{job.key}: {code}") from error
        except BotoCoreError as error:
            raise ReadBrokenOff(f"{job.bucket}/{job.key}: {type(error).__name__}") from error


def _summary(chunks: Iterable[bytes], after_each: Callable[[], None]) -> dict[str, Any]:
    digest, size, lines, last = hashlib.sha256(), 0, 0, b"\n"
    for chunk in chunks:
        digest.update(chunk)
        size += len(chunk)
        lines += chunk.count(b"\n")
        last = chunk[-1:]
        after_each()
    return {"size": size, "sha256": digest.hexdigest(), "lines": lines + (last != b"\n")}
