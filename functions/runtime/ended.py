"""The event of an execution that has ended. The command line reads it too, without a handler's imports."""

from collections.abc import Callable
from typing import Any

from msgspec import Struct, defstruct

from .validation import parser


class Ended(Struct, frozen=True, rename="camel"):
    """The `detail` of an event *Step Functions Execution Status Change*.

    input: as JSON; None if it is left out. stop_date: when it ended, in milliseconds since 1970.
    """

    name: str
    status: str
    execution_arn: str
    state_machine_arn: str
    input: str | None = None
    stop_date: int | None = None


def detail_parser[E: Ended](kind: type[E]) -> Callable[[Any], E]:
    """Return a parser of such an event; it raises InvalidEvent. kind: Ended, with more of the detail."""
    event: Any = defstruct("Event", [("detail", kind)])
    parse = parser(event)

    def parse_detail(document: Any) -> E:
        detail: E = parse(document).detail
        return detail

    return parse_detail
