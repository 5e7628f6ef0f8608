"""Injected faults: which calls fail, and how."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec

from stepwise.local.simulators.serving import Injection

ANY = "*"


class Fault(Injection, frozen=True, kw_only=True):
    """A fault of the next calls of an operation (`*`: of any) that are not throttled.

    where: only calls with these parameters; for SearchUsers, the field that it searches is one.
    delay_seconds: wait first. code, message: return this error and do nothing; status: unless it is the model's.
    lose: close the connection instead of acting (`request`) or instead of responding (`answer`).
    creation_fails: the instance that this call of CreateInstance begins to create ends as CREATION_FAILED.
    """

    operation: str
    where: dict[str, str] = msgspec.field(default_factory=dict)
    delay_seconds: Annotated[float, msgspec.Meta(ge=0)] = 0
    code: str | None = None
    message: str = "a fault on request"
    status: int | None = None
    lose: Literal["request", "answer"] | None = None
    creation_fails: bool = False

    @property
    def kind(self) -> str:
        """Effect of the fault, as recorded in the journal."""
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
