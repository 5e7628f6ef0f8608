"""The one shape of a saga function: read the order, call the domain once, log how it ended."""

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import wraps
from typing import Any

from idempotency import Step
from idempotency.saga import SagaStep
from runtime.context import LambdaContext
from runtime.tracing import traced

from .order import Order, parse_order

type Result = Mapping[str, Any]

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Task:
    """One call of a saga function: the order, and the step that it commits or compensates.

    deadline: when the invocation ends at the latest, aware UTC.
    """

    order: Order
    step: Step
    deadline: datetime


def saga_task(step: SagaStep) -> Callable[[Callable[[Task], Result]], Callable[[Any, LambdaContext], Result]]:
    """Make a Lambda handler of a function from Task to result.

    step: the one that the function commits or compensates.
    Raises InvalidOrder before the function is called, or whatever the function raises.
    """

    def decorate(run: Callable[[Task], Result]) -> Callable[[Any, LambdaContext], Result]:
        @wraps(run)
        def handler(event: Any, context: LambdaContext) -> Result:
            order = parse_order(event)
            now = datetime.now(UTC)
            call = Step(order.order_id, step.name, event, context.aws_request_id, now)
            deadline = now + timedelta(milliseconds=context.get_remaining_time_in_millis())
            with traced(run.__name__, order_id=order.order_id, step=step.name):
                return _logged(run, Task(order, call, deadline))

        return handler

    return decorate


def _logged(run: Callable[[Task], Result], task: Task) -> Result:
    fields = {"task": run.__name__, "order_id": task.order.order_id}
    _logger.info("started", extra=fields)
    try:
        result = run(task)
    except Exception as error:
        _logger.warning("refused or failed", extra={**fields, "error": type(error).__name__})
        raise
    _logger.info("done", extra=fields)
    return result
