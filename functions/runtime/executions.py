"""Calls to Step Functions: failures that pass are told apart from answers that a caller expects."""

from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from botocore.exceptions import ClientError

from idempotency import TransientError

from .transient import transient_as

_TRANSIENT = frozenset({"ExecutionLimitExceeded", "Throttling", "ThrottlingException", "TooManyRequestsException"})
# The state has ended, or was retried with a newer token.
DEAD_TOKEN = ("InvalidToken", "TaskDoesNotExist", "TaskTimedOut")


class ExecutionsUnavailable(TransientError):
    """Step Functions throttled the call or failed, or its answer was lost."""


def answered(call: Callable[[], Any], *expected: str) -> Any:
    """The answer; None for an error with one of these codes. Raises ExecutionsUnavailable."""
    try:
        with transient_as(ExecutionsUnavailable, "Step Functions", _TRANSIENT):
            return call()
    except ClientError as error:
        if error.response["Error"]["Code"] in expected:
            return None
        raise


def wake(client: Callable[[], Any], tokens: Iterable[str]) -> None:
    """Answer callback tokens; dead ones are ignored. Raises ExecutionsUnavailable."""
    for token in tokens:
        answered(partial(client().send_task_success, taskToken=token, output="{}"), *DEAD_TOKEN)
