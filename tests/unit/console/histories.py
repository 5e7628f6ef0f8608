"""Execution histories in Step Functions' format, built event by event."""

from datetime import UTC, datetime, timedelta
from typing import Any

from stepwise.operations.histories import History

BEGIN = datetime(2026, 11, 23, 12, tzinfo=UTC)


class Made:
    """A history under construction. Each call adds one event and returns its id."""

    def __init__(self) -> None:
        self.events: list[Any] = []

    def add(self, kind: str, before: int = 0, at: float | None = None, **details: Any) -> int:
        """Add an event. at: seconds after the start; by default a second after the previous event."""
        number = len(self.events) + 1
        seconds = float(number) if at is None else at
        event: dict[str, Any] = {"id": number, "type": kind, "previousEventId": before}
        event["timestamp"] = BEGIN + timedelta(seconds=seconds)
        if details:
            name = "stateEntered" if kind.endswith("Entered") else f"{kind[0].lower()}{kind[1:]}"
            name = "stateExited" if kind.endswith("Exited") else name
            event[f"{name}EventDetails"] = details
        self.events.append(event)
        return number

    def task(
        self, name: str, before: int = 0, *errors: str, at: float = 0, took: float = 1, resource: str = "lambda"
    ) -> int:
        """Add a whole task: an attempt for each error and, if it has none, one that succeeds; each takes so long."""
        last = self.add("TaskStateEntered", before, at, name=name)
        for error in errors or ("",):
            last = self.add("TaskScheduled", last, at, resource=resource)
            at += took
            details = {"error": error, "cause": '{"errorMessage": "why"}'} if error else {}
            last = self.add("TaskFailed" if error else "TaskSucceeded", last, at, **details)
        return self.add("TaskStateExited", last, at, name=name)

    @property
    def history(self) -> History:
        made = History()
        made.add(self.events)
        return made
