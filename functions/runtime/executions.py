"""Calls to Step Functions: failures that pass are told apart from answers that a caller expects."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from idempotency import TransientError

_TRANSIENT = frozenset({"ExecutionLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException"})
# The state has ended, or was retried with a newer token.
DEAD_TOKEN = ("InvalidToken", "TaskDoesNotExist", "TaskTimedOut")


class ExecutionsUnavailable(TransientError):
    """Step Functions throttled the call or failed, or its answer was lost."""


def answered(call: Callable[[], Any], *expected: str) -> Any:
    """The answer; None for an error with one of these codes. Raises ExecutionsUnavailable."""
    try:
        return call()
    except ClientError as error:
        code = str(error.response["Error"]["Code"])
        if code in expected:
            return None
        if code in _TRANSIENT or error.response["ResponseMetadata"]["HTTPStatusCode"] >= 500:
            raise ExecutionsUnavailable(f"Step Functions answers {code}") from error
        raise
    except BotoCoreError as error:
        raise ExecutionsUnavailable(f"no answer from Step Functions ({type(error).__name__})") from error


def wake(client: Callable[[], Any], tokens: Iterable[str]) -> None:
    """Answer callback tokens; dead ones are ignored. Raises ExecutionsUnavailable."""
    for token in tokens:
        answered(partial(client().send_task_success, taskToken=token, output="{}"), *DEAD_TOKEN)
