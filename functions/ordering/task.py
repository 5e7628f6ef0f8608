"""The shape of a saga function: the order, the step, and one call of the domain."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from typing import Any

from idempotency import Step
from runtime.context import LambdaContext
from runtime.handler import Call, handler

from .order import Order, parse_order

type Result = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Task:
    """One call of a saga function: the order, and the step that it commits or compensates.

    deadline: when the invocation ends at the latest, aware UTC.
    """

    order: Order
    step: Step
    deadline: datetime


def saga_task(*, step: str) -> Callable[[Callable[[Task], Result]], Callable[[Any, LambdaContext], Result]]:
    """Make a Lambda handler of a function from Task to result.

    step: the name of the step that the function commits or compensates.
    Raises InvalidOrder before the function is called, or whatever the function raises.
    """

    def decorate(run: Callable[[Task], Result]) -> Callable[[Any, LambdaContext], Result]:
        @handler(parse_order, ids=("order_id",), step=step)
        @wraps(run)
        def handle(order: Order, call: Call) -> Result:
            made = Step(order.order_id, step, call.event, call.aws_request_id, call.at)
            return run(Task(order, made, call.deadline))

        return handle

    return decorate
