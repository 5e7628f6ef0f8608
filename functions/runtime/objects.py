"""Calls to S3: transient failures are told apart from a missing object."""

from collections.abc import Callable, Iterator

from botocore.exceptions import BotoCoreError, ClientError

from idempotency import BusinessError, TransientError

# Functions that read one known object have no s3:ListBucket. For them, S3 answers "denied" if the key is missing.
_GONE = frozenset({"NoSuchKey", "NoSuchVersion", "MethodNotAllowed", "AccessDenied", "400", "403", "404", "405"})
# "NoSuchUpload": the SDK has completed an upload twice, because the first response was lost.
_TRANSIENT = frozenset({"SlowDown", "RequestTimeout", "ConditionalRequestConflict", "NoSuchUpload"})


class BucketUnavailable(TransientError):
    """S3 failed, or its response was cut off."""


def answered[R](call: Callable[[], R], key: str, missing: BusinessError | None = None) -> R:
    """Return the response. missing: raised if the object does not exist. Raises BucketUnavailable."""
    try:
        return call()
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if missing is not None and code in _GONE:
            raise missing from None
        if code in _TRANSIENT or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            raise BucketUnavailable(f"{key}: S3 answers {code}") from None
        raise
    except BotoCoreError as error:
        raise BucketUnavailable(f"{key}: no answer from S3 ({type(error).__name__})") from None


def guarded[R](parts: Iterator[R], key: str, missing: BusinessError | None = None) -> Iterator[R]:
    """Yield the parts of a response that arrives while it is read. Raises as `answered`."""
    while True:
        part = answered(lambda: next(parts, None), key, missing)
        if part is None:
            return
        yield part
