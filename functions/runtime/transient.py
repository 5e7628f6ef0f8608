"""Transient failures of AWS services."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager

from botocore.exceptions import BotoCoreError, ClientError

from idempotency import TransientError


@contextmanager
def transient_as(failure: type[TransientError], service: str, codes: Collection[str]) -> Iterator[None]:
    """Raise `failure` for an error with one of these codes or a status from 500, and for a lost response.

    service: its name in the message. Other errors pass unchanged.
    """
    try:
        yield
    except ClientError as error:
        code = error.response["Error"]["Code"]
        if code in codes or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            raise failure(f"{service} answers {code}") from error
        raise
    except BotoCoreError as error:
        raise failure(f"no answer from {service} ({type(error).__name__})") from error
