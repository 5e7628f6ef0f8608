"""What logs hold: ids, never what the order says."""

from collections.abc import Callable

from local.stack import Stack
from tests.integration.conftest import Document, Invocation, Saga
from tests.integration.faults import Resources


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
    logs = _all_logs(stack)
    assert "PaymentDeclined" in logs
    assert "in-private" not in logs
    assert "in_private" not in logs


def _all_logs(stack: Stack) -> str:
    client = stack.client("logs")
    groups = [
        group["logGroupName"]
        for page in client.get_paginator("describe_log_groups").paginate()
        for group in page["logGroups"]
    ]
    pages = [
        page for group in groups for page in client.get_paginator("filter_log_events").paginate(logGroupName=group)
    ]
    return "\n".join(event["message"] for page in pages for event in page["events"])
