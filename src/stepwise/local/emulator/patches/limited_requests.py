"""Step Functions' limits on requests, which MiniStack 1.5.33 does not enforce. Off unless `STEPWISE_LIMITS` is 1.

1. Names have up to 80 characters, labels of Map states up to 40, and neither contains characters that AWS forbids.
2. An input, or the output that answers a task, has up to 256 KiB.
3. `StartExecution` comes from a token bucket: `ThrottlingException`.
"""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from .limits import Limits, bucket, chosen

type Data = dict[str, Any]
type Answer = tuple[int, dict[str, str], bytes]
type Handler = Callable[[Data], Answer]

_NAMED = ("_create_state_machine", "_create_activity", "_start_execution", "_start_sync_execution")
_SENT = {"_start_execution": "input", "_start_sync_execution": "input", "_send_task_success": "output"}
_DEFINED = ("_create_state_machine", "_update_state_machine")
_INVALID = "SCHEMA_VALIDATION_FAILED:"
_UNNAMEABLE = re.compile(r'[\s?*<>{}\[\]"#%\\^|~`$&,;:/\x00-\x1f\x7f-\x9f]')


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    limits = chosen()
    for name in {*_NAMED, *_SENT, *_DEFINED}:
        setattr(stepfunctions, name, _checked(getattr(stepfunctions, name), name, limits))
    stepfunctions._start_execution = _throttled(stepfunctions._start_execution, limits)


def _throttled(start: Handler, limits: Limits) -> Handler:
    tokens = bucket(limits.start_execution, limits)

    def start_execution(data: Data) -> Answer:
        return start(data) if tokens.take() else _error("ThrottlingException", "Rate exceeded")

    return start_execution


def _checked(handle: Handler, operation: str, limits: Limits) -> Handler:
    def handle_checked(data: Data) -> Answer:
        refused = next(_refusals(operation, data, limits), None)
        return _error(*refused) if refused else handle(data)

    return handle_checked


def _refusals(operation: str, data: Data, limits: Limits) -> Iterator[tuple[str, str]]:
    """Yield error codes and messages."""
    name = data.get("name") if operation in _NAMED else None
    if name is not None and len(name) > limits.name_characters:
        yield "ValidationException", _longer(f"Value '{name}' at 'name'", limits.name_characters)
    if name is not None and _UNNAMEABLE.search(name):
        yield "InvalidName", f"Invalid Name: '{name}'"
    member = _SENT.get(operation)
    if member and len(data.get(member, "").encode()) > limits.payload_bytes:
        yield "ValidationException", _longer(f"Value at '{member}'", limits.payload_bytes)
    if operation in _DEFINED and data.get("definition"):
        for fault in _faults(json.loads(data["definition"]), limits):
            yield "InvalidDefinition", f"Invalid State Machine Definition: '{fault}'"


def _faults(definition: Data, limits: Limits) -> Iterator[str]:
    labels = set()
    for place, name, state in _states(definition):
        if len(name) > limits.name_characters:
            yield f"{_INVALID} a state's name is over {limits.name_characters} characters at {place}"
        label = state.get("Label")
        if label is None:
            continue
        if len(label) > limits.label_characters or _UNNAMEABLE.search(label):
            yield f"{_INVALID} a label is over {limits.label_characters} characters, or has others, at {place}/Label"
        if label in labels:
            yield f"{_INVALID} the label is not unique at {place}/Label"
        labels.add(label)


def _states(machine: Data, place: str = "") -> Iterator[tuple[str, str, Data]]:
    """Yield the states of a definition, including nested ones, with their places and names."""
    for name, state in machine.get("States", {}).items():
        here = f"{place}/States/{name}"
        yield here, name, state
        for field in ("ItemProcessor", "Iterator"):
            yield from _states(state.get(field, {}), f"{here}/{field}")
        for index, branch in enumerate(state.get("Branches", [])):
            yield from _states(branch, f"{here}/Branches[{index}]")


def _longer(what: str, limit: int) -> str:
    constraint = f"failed to satisfy constraint: Member must have length less than or equal to {limit}"
    return f"1 validation error detected: {what} {constraint}"


def _error(code: str, message: str) -> Answer:
    from ministack.services import stepfunctions

    answer: Answer = stepfunctions.error_response_json(code, message, 400)
    return answer
