"""Step Functions' limits on an execution, which MiniStack 1.5.33 does not enforce. Off unless `STEPWISE_LIMITS` is 1.

1. 40 concurrent iterations of an inline Map, which `groups` asks for here.
2. 256 KiB of input or output of a state or task: `States.DataLimitExceeded`.
3. 25,000 events of a history: the execution fails.
4. State transitions come from a token bucket. Without a token an execution waits, and `ExecutionThrottled` counts it.

Events show what happens in an execution, so this wraps `stepfunctions._add_event`. An Express execution has no limit of
events or transitions.
"""

import json
import os
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


class TokenBucket:
    def __init__(self, size: float, refill: float) -> None:
        self._size, self._refill = size, refill
        self._tokens, self._at = size, time.monotonic()
        self._lock = threading.Lock()

    def take(self) -> bool:
        """Take a token. Returns whether there was one."""
        with self._lock:
            self._fill()
            if self._tokens < 1:
                return False
            self._tokens -= 1
            return True

    def reserve(self) -> float:
        """Take the next token, even if it is not available yet. Returns the seconds until it is."""
        with self._lock:
            self._fill()
            self._tokens -= 1
            return max(0.0, -self._tokens / self._refill)

    def _fill(self) -> None:
        now = time.monotonic()
        self._tokens = min(self._size, self._tokens + (now - self._at) * self._refill)
        self._at = now


type Execution = dict[str, Any]
type Event = dict[str, Any]

DATA_LIMIT = "States.DataLimitExceeded"
# The events that carry the input or output of a state or task, and the member that has it.
_PAYLOADS = {"StateEntered": "input", "StateExited": "output", "TaskScheduled": "parameters", "TaskSucceeded": "output"}

INLINE_ITERATIONS = 40
_FULL = "The execution reached the maximum number of history events ({})."


@dataclass(frozen=True, slots=True)
class Limits:
    """Limits, by default those of AWS in large Regions. rate_scale: factor of the token buckets."""

    payload_bytes: int = 262_144
    history_events: int = 25_000
    name_characters: int = 80
    label_characters: int = 40
    start_execution: tuple[float, float] = (1_300, 300)
    state_transition: tuple[float, float] = (5_000, 1_500)
    rate_scale: float = 1.0
    transaction_seconds: float = 0.02


def enabled() -> bool:
    return os.environ.get("STEPWISE_LIMITS") == "1"


def chosen() -> Limits:
    """Return the limits, with overrides from environment variables: see docs/local-engine.md."""
    return Limits(
        history_events=int(os.environ.get("STEPWISE_LIMIT_HISTORY_EVENTS", 25_000)),
        rate_scale=float(os.environ.get("STEPWISE_LIMIT_RATE_SCALE", 1)),
        transaction_seconds=float(os.environ.get("STEPWISE_LIMIT_TRANSACTION_MS", 20)) / 1000,
    )


def bucket(rate: tuple[float, float], limits: Limits) -> TokenBucket:
    """Create a token bucket. rate: its size, and its refill per second."""
    size, refill = rate
    return TokenBucket(max(1.0, size * limits.rate_scale), refill * limits.rate_scale)


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import stepfunctions

    limits = chosen()
    stepfunctions._add_event = _limited(stepfunctions._add_event, limits)


def inline_concurrency(requested: int) -> int:
    """Return how many iterations of an inline Map run at once if this many are requested; 0: as many as possible."""
    if not enabled():
        return requested
    return min(requested or INLINE_ITERATIONS, INLINE_ITERATIONS)


def _limited(add: Callable[..., Event], limits: Limits) -> Callable[..., Event]:
    transitions = bucket(limits.state_transition, limits)

    def add_event(execution: Execution, kind: str, details: Event | None = None) -> Event:
        from ministack.services import stepfunctions

        if is_standard(execution) and not kind.startswith("Execution"):
            if len(execution["events"]) >= limits.history_events - 1:
                raise stepfunctions._ExecutionError("States.Runtime", _FULL.format(limits.history_events))
            if kind.endswith("StateEntered"):
                _wait(transitions.reserve(), execution)
        suffix, payload, members = _payload(kind, details)
        if payload is None or not _too_large(payload, limits.payload_bytes):
            return add(execution, kind, details)
        cause = f"The state/task returned a result with a size exceeding {limits.payload_bytes} bytes."
        if suffix == "TaskSucceeded":
            named = {name: members.get(name, "") for name in ("resourceType", "resource")}
            add(execution, "TaskFailed", {"taskFailedEventDetails": {**named, "error": DATA_LIMIT, "cause": cause}})
        raise stepfunctions._ExecutionError(DATA_LIMIT, cause)

    return add_event


def _payload(kind: str, details: Event | None) -> tuple[str, str | None, Event]:
    """Return the kind of event that has a payload, the payload, and the event's other fields; no payload for others."""
    suffix = next((one for one in _PAYLOADS if kind.endswith(one)), "")
    if not suffix or not details:
        return "", None, {}
    (members,) = details.values()
    return suffix, members.get(_PAYLOADS[suffix]), members


def is_standard(execution: Execution) -> bool:
    from ministack.services import stepfunctions

    machine = stepfunctions._state_machines.get(execution.get("stateMachineArn", "")) or {}
    return not execution.get("sync") and machine.get("type", "STANDARD") == "STANDARD"


def _wait(seconds: float, execution: Execution) -> None:
    if seconds <= 0:
        return
    from ministack.services import cloudwatch

    dimensions = {"StateMachineArn": execution.get("stateMachineArn", "")}
    cloudwatch.record_metric("AWS/States", "ExecutionThrottled", 1, unit="Count", dimensions=dimensions)
    time.sleep(seconds)


def _too_large(text: str, limit: int) -> bool:
    """True if JSON, as the emulator writes it, exceeds a limit of UTF-8 bytes in its shortest form."""
    if len(text) <= limit:
        return False
    return len(json.dumps(json.loads(text), ensure_ascii=False, separators=(",", ":")).encode()) > limit
