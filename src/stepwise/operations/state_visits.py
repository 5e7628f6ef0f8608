"""One state that an execution went through: its attempts, errors and times."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from .causes import Cause, message_of

_FAILURES = ("TaskFailed", "TaskTimedOut", "TaskSubmitFailed", "TaskStartFailed")
# Maximum length of a message in a table.
_MAX_MESSAGE = 500


@dataclass(slots=True)
class Attempt:
    """One attempt of a task. ended: None while it runs. error: empty unless it failed."""

    began: datetime
    ended: datetime | None = None
    error: str = ""
    message: str = ""


@dataclass(slots=True)
class StateVisit:
    """One state that an execution went through. errors: one for each failed attempt. message: that of the last error.

    ended: whether the execution has left it. failed: whether the last attempt failed. before: the visit that led here;
    inside: the visit of the Map or Parallel state around it; both by number, None at a beginning. iteration: of that
    Map. length: how many items a Map has. first and last: the ids of the events of its entry and its exit.
    waits: whether it waits for a token. map_run: the ARN of a distributed Map's run.
    """

    name: str
    entered: datetime
    exited: datetime
    attempts: int = 0
    errors: list[str] = field(default_factory=list)
    message: str = ""
    ended: bool = False
    failed: bool = False
    kind: str = ""
    before: int | None = None
    inside: int | None = None
    iteration: int | None = None
    tries: list[Attempt] = field(default_factory=list)
    length: int | None = None
    first: int = 0
    last: int = 0
    waits: bool = False
    map_run: str = ""

    @property
    def milliseconds(self) -> int:
        return round((self.exited - self.entered).total_seconds() * 1000)

    @property
    def cause(self) -> Cause | None:
        """The last error, with the number of consecutive attempts that ended with it."""
        if not self.errors:
            return None
        times = next((n for n, error in enumerate(reversed(self.errors)) if error != self.errors[-1]), len(self.errors))
        return Cause(self.errors[-1], self.message, times)


def note(visit: StateVisit, event: Any) -> None:
    """Add an event of the history, such as TaskScheduled, to its visit."""
    kind, at = event["type"], event["timestamp"]
    visit.exited = at
    if kind.endswith("StateExited"):
        visit.ended, visit.last = True, event["id"]
    elif kind == "TaskScheduled":
        visit.attempts += 1
        visit.tries.append(Attempt(at))
        resource = event.get("taskScheduledEventDetails", {}).get("resource", "")
        visit.waits = resource.endswith(".waitForTaskToken")
    elif kind == "TaskSucceeded":
        visit.failed = False
        _end(visit, at)
    elif kind in _FAILURES:
        details = event[f"{kind[0].lower()}{kind[1:]}EventDetails"]
        fail(visit, details.get("error", kind), details.get("cause", ""))
        _end(visit, at, visit.errors[-1], visit.message)


def fail(visit: StateVisit, error: str, cause: str) -> None:
    """Add an error."""
    visit.errors.append(error)
    visit.message, visit.failed = message_of(cause), True


def _end(visit: StateVisit, at: datetime, error: str = "", message: str = "") -> None:
    if visit.tries:
        last = visit.tries[-1]
        last.ended, last.error, last.message = at, error, message[:_MAX_MESSAGE]
