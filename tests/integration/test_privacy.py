"""Logs contain ids, never the content of an order."""

from collections.abc import Callable

from stepwise.operations.stack import Stack
from tests.kit.injection import Resources
from tests.kit.local_stack import Document, Invocation, Saga
from tests.kit.logs import all_logs


def test_logs_hold_no_token_and_no_customer(
    run: Callable[..., Saga],
    invoke: Callable[[str, object], Invocation],
    stack: Stack,
    resources: Resources,
    order: Document,
) -> None:
    private = order | {"customer_id": "customer-in-private", "payment": {"method": "card", "token": "tok_in_private"}}
    run(private)
    invoke("ProcessOrder", private | {"unit": 1})
    logs = all_logs(stack)
    assert "PaymentDeclined" in logs
    assert "in-private" not in logs
    assert "in_private" not in logs
