"""Each error reaches the state machine under its own name, which decides on retries."""

from collections.abc import Callable

import pytest

from stepwise.operations.stack import Stack
from tests.kit.injection import BROKEN, CONFLICT, THROTTLED, Answer, Resources, no_concurrency, through_proxy
from tests.kit.local_stack import Document, Saga
from tests.kit.machine import MACHINES, retries
from tests.kit.machine import THROTTLED as THROTTLED_FUNCTION

type Run = Callable[..., Saga]


@pytest.mark.parametrize(
    ("answer", "name"),
    [(CONFLICT, "Contention"), (THROTTLED, "StoreUnavailable"), (BROKEN, "StoreUnavailable")],
    ids=["conflict", "throttled", "broken"],
)
def test_transient_error_is_retried_until_it_ends(
    run: Run, stack: Stack, resources: Resources, order: Document, answer: Answer, name: str
) -> None:
    with through_proxy(stack, resources, "ProcessPayment") as proxy:
        # The SDK attempts a throttled or broken call twice, and a cancelled transaction once.
        proxy.answers = [answer] * (2 if answer is CONFLICT else 4)
        saga = run(order)
    assert saga.visit("ProcessPayment").errors == [name, name]
    assert saga.visit("ProcessPayment").attempts == 3
    assert saga.execution.status == "SUCCEEDED"


def test_throttled_function_is_retried_and_then_compensated(
    run: Run, stack: Stack, resources: Resources, order: Document
) -> None:
    with no_concurrency(stack, resources, "ProcessPayment"):
        saga = run(order)
    attempts = 1 + retries(MACHINES["OrderSaga"].states["ProcessPayment"], THROTTLED_FUNCTION)
    assert saga.visit("ProcessPayment").errors == [THROTTLED_FUNCTION] * attempts
    assert saga.view.order is not None
    assert saga.view.order["status"] == "Pending"
