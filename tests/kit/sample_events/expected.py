"""The shape of an expectation, and the setup that an event needs."""

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from stepwise.operations.stack import Stack
from tests.kit.injection import Resources

type Given = Callable[[Stack, Any], Mapping[str, str]]
"""Brings the stack into the state that the event needs. Returns replacements for parts of the event."""


def as_it_is(_: Stack, __: Any) -> Mapping[str, str]:
    return {}


@dataclass(frozen=True, slots=True)
class Expected:
    """Expected results. fields: of the result, `...` for any value; `...` for any result, None for none.

            error: class name of the expected error. again: fields of the second result, if it differs from the first.
        again_error: class name of the second call's error, if the first returns.
    leaves: what must exist after each. The stack has stock, one successful saga, and no row of either.
    """

    fields: Any = None
    error: str | None = None
    again: Any = None
    again_error: str | None = None
    given: Given = as_it_is
    leaves: Mapping[Callable[[Stack], Any], Any] = field(default_factory=dict)


def invoked(stack: Stack, function: str, event: Any) -> Any:
    """The result of a function of the stack, without a container. Raises RuntimeError if it fails."""
    name = Resources(stack)[f"{function}Function"]
    answer = stack.client("lambda").invoke(FunctionName=name, Payload=json.dumps(event))
    body = answer["Payload"].read().decode()
    if "FunctionError" in answer:
        raise RuntimeError(f"{function}: {body}")
    return json.loads(body)
