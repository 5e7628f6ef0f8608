"""One Lambda function for several states of a machine: it runs the handler that is registered under the state's name.

    states = States("reconcile_payments", InvalidReconciliation)

    @states.handler(Page)
    def compare_orders(page: Page, visit: Visit) -> Result: ...

    reconcile_payments = states.function()

A state passes `{"input": ..., "context": {...}}`. `input` is the handler's own struct. `context` has four fields of
`$$`, never all of it: it includes the execution's input, which may be secret. The result is the state's output.
docs/add-a-workflow.md has an example. A contract test compares each machine's states with the handlers.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from msgspec import Meta, Struct, defstruct

from idempotency import Step

from .context import LambdaContext
from .handler import Call, handler
from .validation import parser

type Result = Mapping[str, Any]


class Context(Struct, frozen=True, forbid_unknown_fields=True):
    """The execution, as a handler sees it.

    execution: its name. started_at: aware; a redrive keeps it. state: the state's name. retry_count: 0 at first.
    """

    execution: Annotated[str, Meta(pattern=r"^[A-Za-z0-9_.-]{1,80}\Z")]
    started_at: Annotated[datetime, Meta(tz=True)]
    state: str
    retry_count: Annotated[int, Meta(ge=0)]


class UnknownState(Exception):
    """The function has no handler for the state: it is older than the machine, or a handler is missing."""


@dataclass(frozen=True, slots=True)
class Visit:
    """One call of a handler. context: as the state passes it. workflow: the name of the function's handler."""

    context: Context
    call: Call
    workflow: str

    def step(self, part: str = "") -> Step:
        """Identify this visit to `StepStore`, so that its effects happen once.

        Retries and duplicates are the same step. part: distinguishes the visits of a state in a loop; without `#`.
        An execution that reuses the name of an old one gets PayloadMismatch, because it started at another time.
        """
        name = f"{self.workflow}.{self.context.state}" + (f".{part}" if part else "")
        payload = {"input": self.call.event["input"], "started_at": self.context.started_at.isoformat()}
        return Step(self.context.execution, name, payload, self.call.aws_request_id, self.call.at)


class _Event(Struct, frozen=True):
    context: Context


@dataclass(frozen=True, slots=True)
class _Request:
    """A parsed event. The other three fields are for log lines."""

    input: Any
    context: Context
    execution: str
    state: str
    retry_count: int


class States:
    """The handlers of one function.

    name: the function's handler. refusal: raised for a malformed event; its message starts with the field's path.
    """

    def __init__(self, name: str, refusal: type[Exception]) -> None:
        self.name = name
        self._refusal = refusal
        self._parse_context = parser(_Event, refusal)
        self._parsers: dict[str, Callable[[Any], Any]] = {}
        self._handlers: dict[str, Callable[[Any, Visit], Result]] = {}

    def handler[I: Struct](
        self, kind: type[I]
    ) -> Callable[[Callable[[I, Visit], Result]], Callable[[I, Visit], Result]]:
        """Register a function as the handler of the state with its name. kind: its input, a struct.

        Raises ValueError for a second handler of a state.
        """

        def register(run: Callable[[I, Visit], Result]) -> Callable[[I, Visit], Result]:
            state = run.__name__
            if state in self._handlers:
                raise ValueError(f"{self.name}: two handlers of state {state}")
            fields: Any = [("input", kind), ("context", Context)]
            self._parsers[state] = parser(defstruct("Event", fields, forbid_unknown_fields=True), self._refusal)
            self._handlers[state] = run
            return run

        return register

    def function(self) -> Callable[[Any, LambdaContext], Result]:
        """Build the Lambda handler. Its attribute `states` has the names of the states, for the contract test.

        It raises `refusal`, UnknownState, and what the state's handler raises.
        """

        def run(request: _Request, call: Call) -> Result:
            return self._handlers[request.state](request.input, Visit(request.context, call, self.name))

        run.__name__ = self.name
        made = handler(self._read, ids=("execution", "state", "retry_count"))(run)
        vars(made)["states"] = frozenset(self._handlers)
        return made

    def _read(self, event: Any) -> _Request:
        context = self._parse_context(event).context
        if context.state not in self._parsers:
            raise UnknownState(f"context.state: {self.name} has no handler of this state")
        given = self._parsers[context.state](event).input
        return _Request(given, context, context.execution, context.state, context.retry_count)
