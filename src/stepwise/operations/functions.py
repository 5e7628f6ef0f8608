"""Calls of a stack's functions."""

import json
import time
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import ClientError

from runtime.json_documents import event_text

from .errors import CommandError
from .stack import Stack

# Seconds before each further try of a call that exceeded the concurrency limit and did not run.
_PAUSES = (0.25, 0.5, 1, 2, 4, 8, 8)


class FunctionFailed(CommandError):
    """A function of the stack failed; the message contains its error."""


def call(stack: Stack, function: str, event: Any, errors: Mapping[str, type[Exception]], client: Any = None) -> Any:
    """Call a function and return its result.

    errors: those that are raised as themselves, by name. client: a Lambda client, if not the stack's own.
    Raises FunctionFailed.
    """
    answer = invoke(client or stack.client("lambda"), stack.outputs[f"{function}FunctionArn"], event)
    body = json.loads(answer["Payload"].read())
    if "FunctionError" not in answer:
        return body
    error, message = body.get("errorType", ""), body.get("errorMessage", "")
    if error in errors:
        raise errors[error](message)
    raise FunctionFailed(f"{function}: {error}: {message}")


def invoke(client: Any, function: str, event: Any) -> Any:
    """Invoke a function, again if it is throttled. Returns Lambda's response. Raises ClientError."""
    payload = event_text(event)
    for pause in _PAUSES:
        try:
            return client.invoke(FunctionName=function, Payload=payload)
        except ClientError as error:
            if error.response["Error"]["Code"] != "TooManyRequestsException":
                raise
        time.sleep(pause)
    return client.invoke(FunctionName=function, Payload=payload)
