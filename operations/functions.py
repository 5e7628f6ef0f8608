"""Calls of a stack's functions."""

import json
from collections.abc import Mapping
from typing import Any

from .errors import CommandError
from .stack import Stack


class FunctionFailed(CommandError):
    """A function of the stack failed; the message has its error."""


def call(stack: Stack, function: str, event: Any, errors: Mapping[str, type[Exception]], client: Any = None) -> Any:
    """What a function answers. errors: those that are raised as themselves, by name. client: of Lambda, if not the
    stack's own.

    Raises FunctionFailed.
    """
    answer = (client or stack.client("lambda")).invoke(
        FunctionName=stack.outputs[f"{function}FunctionArn"], Payload=json.dumps(event)
    )
    body = json.loads(answer["Payload"].read())
    if "FunctionError" not in answer:
        return body
    error, message = body.get("errorType", ""), body.get("errorMessage", "")
    if error in errors:
        raise errors[error](message)
    raise FunctionFailed(f"{function}: {error}: {message}")
