"""The handlers of a saga: a step or its compensation, and the event of an execution that has ended."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from operator import attrgetter
from typing import Any

from msgspec import defstruct

from idempotency import Step
from idempotency.saga import Saga, SagaStep

from .context import LambdaContext
from .ended import Ended as Ended
from .ended import detail_parser as detail_parser
from .handler import Call, handler

type Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task[T]:
    """One call of a saga function: the saga's input, and the step that it commits or compensates.

    deadline: the latest time at which the invocation ends, aware UTC.
    """

    request: T
    step: Step
    deadline: datetime


def tasks(
    saga: Saga,
) -> Callable[[SagaStep], Callable[[Callable[[Any], Result]], Callable[[Any, LambdaContext], Result]]]:
    """Return a decorator that turns a function of a Task into the Lambda handler of a step or compensation.

    Its argument is the step that the function commits or compensates. The handler raises what `saga.parse` and the
    function raise.
    """

    def saga_task(step: SagaStep) -> Callable[[Callable[[Any], Result]], Callable[[Any, LambdaContext], Result]]:
        def decorate(run: Callable[[Any], Result]) -> Callable[[Any, LambdaContext], Result]:
            @handler(saga.parse, ids=(saga.id_field,), step=step.name)
            @wraps(run)
            def handle(request: Any, call: Call) -> Result:
                saga_id = getattr(request, saga.id_field)
                called = Step(saga_id, step.name, call.event, call.aws_request_id, call.at)
                return run(Task(request, called, call.deadline))

            return handle

        return decorate

    return saga_task


def ended_parser(saga: Saga) -> Callable[[Any], Ended]:
    """Return a parser of such an event; it raises InvalidEvent. The saga's id, which log lines carry, is the name."""
    id_field = {saga.id_field: property(attrgetter("name"))}
    ended: Any = defstruct("Ended", [], bases=(Ended,), namespace=id_field, frozen=True, rename="camel")
    return detail_parser(ended)
