"""S3 objects, read as streams."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from idempotency import BusinessError, TransientError

from .job import Job

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
class Objects:
    """Reads objects. client: a `boto3.client("s3")`."""

    client: Any

    def chunks(self, job: Job) -> Iterator[bytes]:
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
