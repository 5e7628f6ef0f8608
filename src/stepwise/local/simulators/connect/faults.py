"""Injected faults: which calls fail, and how."""

import threading
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

ANY = "*"

type Positive = Annotated[int, msgspec.Meta(ge=1)]
type Natural = Annotated[int, msgspec.Meta(ge=0)]


class Fault(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A fault of the next calls of an operation (`*`: of any) that are not throttled.

    times: number of calls. skip: number to skip first. where: only calls with these parameters; for SearchUsers,
    the field that it searches is one.
    delay_seconds: wait first. code, message: answer this error and do nothing; status: unless it is the model's.
    lose: close the connection instead of acting (`request`) or instead of answering (`answer`).
    creation_fails: the instance that this call of CreateInstance begins to create ends as CREATION_FAILED.
    """

    operation: str
    times: Positive = 1
    skip: Natural = 0
    where: dict[str, str] = {}
    delay_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0
    code: str | None = None
    message: str = "a fault on request"
    status: int | None = None
    lose: Literal["request", "answer"] | None = None
    creation_fails: bool = False

    @property
    def kind(self) -> str:
        """Its effect, as the journal records it."""
        lost = f"lose {self.lose}" if self.lose else None
        return self.code or lost or ("creation fails" if self.creation_fails else "delay")

    def concerns(self, operation: str, parameters: Mapping[str, Any]) -> bool:
        named = {**_searched(parameters), **parameters}
        return self.operation in {ANY, operation} and all(
            named.get(name) == value for name, value in self.where.items()
        )


def _searched(parameters: Mapping[str, Any]) -> dict[str, Any]:
    match parameters:
        case {"SearchCriteria": {"StringCondition": {"FieldName": str(name), "Value": value}}}:
            return {name: value}
    return {}


class Faults:
    """The pending faults."""

    def __init__(self) -> None:
        self._ordered: list[Fault] = []
        self._lock = threading.Lock()

    def add(self, fault: Fault) -> None:
        with self._lock:
            self._ordered.append(fault)

    def left(self) -> list[Fault]:
        with self._lock:
            return [msgspec.structs.replace(fault) for fault in self._ordered]

    def clear(self) -> None:
        with self._lock:
            self._ordered.clear()

    def take(self, operation: str, parameters: Mapping[str, Any]) -> Fault | None:
        """The fault of this call: the oldest one that matches and does not skip it."""
        with self._lock:
            for fault in self._ordered:
                if not fault.concerns(operation, parameters):
                    continue
                if fault.skip:
                    fault.skip -= 1
                    continue
                fault.times -= 1
                if not fault.times:
                    self._ordered.remove(fault)
                return fault
            return None
