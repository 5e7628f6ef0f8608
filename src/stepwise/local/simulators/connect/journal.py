"""Every request that the simulator received, in the order of arrival."""

import threading
import time

import msgspec


class Entry(msgspec.Struct, kw_only=True):
    """at: when the request arrived, seconds since the epoch. status: None in flight, and if no answer was sent.

    fault: the injected fault: `delay`, an error's code, `lose request`, `lose answer`, `creation fails`.
    """

    at: float
    operation: str
    instance_id: str | None
    username: str | None
    throttled: bool = False
    fault: str | None = None
    status: int | None = None
    code: str | None = None
    seconds: float | None = None


class Journal:
    def __init__(self) -> None:
        self._entries: list[Entry] = []
        self._lock = threading.Lock()

    def begin(self, operation: str, parameters: dict[str, object]) -> Entry:
        instance_id, username = (parameters.get(name) for name in ("InstanceId", "Username"))
        entry = Entry(
            at=time.time(),
            operation=operation,
            instance_id=instance_id if isinstance(instance_id, str) else None,
            username=username if isinstance(username, str) else None,
        )
        with self._lock:
            self._entries.append(entry)
        return entry

    def entries(self, operation: str | None = None) -> list[Entry]:
        with self._lock:
            return [entry for entry in self._entries if operation in {None, entry.operation}]

    def clear(self) -> None:
        with self._lock:
            self._entries.clear()
