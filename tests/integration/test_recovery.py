"""Whatever the end of a saga, its order is confirmed or undone, or an alert names what is left."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from stepwise.operations import orders
from stepwise.operations.recovery import NothingToRecover, needing_attention, recover, recovery
from stepwise.operations.stack import Stack
from tests.kit.consistency import broken_invariants
from tests.kit.injection import Resources, denied, eventually, status_events_lost, through_proxy
from tests.kit.local_stack import Document, Invocation, Saga

type Run = Callable[..., Saga]
type Invoke = Callable[[str, object], Invocation]
type Messages = Callable[[str], list[Any]]

STEPS = ["ProcessOrder", "ProcessPayment", "ReserveInventory"]


def _too_many(order: Document) -> Document:
    return order | {"items": [{**order["items"][0], "quantity": 11}]}


def _start(stack: Stack, order: Document) -> str:
    name, arn = order["order_id"], stack.outputs["OrderSagaArn"]
    started = stack.stepfunctions.start_execution(stateMachineArn=arn, name=name, input=json.dumps(order))
    return started["executionArn"]


def _recovered(stack: Stack, order: Document) -> str:
    """Wait for the end of the order's recovery."""
    name = order["order_id"]
    eventually(lambda: recovery(stack, name) is not None)
    return orders.ended(stack, name, seconds=120, output="OrderRecoveryArn").status


def _all_barred(stack: Stack, order: Document) -> bool:
    """True if no step of the order is in effect or can still land."""
    records = (stack.row("IdempotencyTable", pk=f"{order['order_id']}#{step}") for step in STEPS)
    return all(record is not None and record["status"] == "COMPENSATED" for record in records)


def _event(stack: Stack, order: Document, status: str) -> dict[str, Any]:
    """The event of an execution's end."""
    detail = {
        "stateMachineArn": stack.outputs["OrderSagaArn"],
        "executionArn": orders.execution_arn(stack, order["order_id"]),
        "name": order["order_id"],
        "status": status,
        "input": json.dumps(order),
    }
    return {"source": "aws.states", "detail-type": "Step Functions Execution Status Change", "detail": detail}


def _backdate(stack: Stack, order: Document) -> None:
    """Make an order two hours old."""
    stack.dynamodb.update_item(
        TableName=stack.outputs["OrdersTable"],
        Key={"order_id": {"S": order["order_id"]}},
        UpdateExpression="SET created_at = :at",
        ExpressionAttributeValues={":at": {"S": (datetime.now(UTC) - timedelta(hours=2)).isoformat()}},
    )


def _invariants(stack: Stack, order: Document) -> list[str]:
    return broken_invariants(stack, [order["order_id"]], {order["items"][0]["sku"]: 10})


@pytest.mark.parametrize("function", ["ReleaseInventory", "ProcessRefund", "UpdateOrderStatus"])
def test_failed_compensation_is_recovered_once_it_works_again(
    run: Run, stack: Stack, resources: Resources, order: Document, routine: Messages, function: str
) -> None:
    with denied(stack, resources, function):
        run(_too_many(order))
        eventually(lambda: recovery(stack, order["order_id"]) is not None)
    assert _recovered(stack, order) == "SUCCEEDED"
    assert _invariants(stack, order) == []
    assert [notice["state"] for notice in routine(order["order_id"])] == ["sns:NotifyRecovered"]


def test_failed_recovery_names_order_step_and_cause(
    run: Run, stack: Stack, resources: Resources, order: Document, alerts: Messages
) -> None:
    with denied(stack, resources, "ProcessRefund"):
        run(_too_many(order))
        assert _recovered(stack, order) == "FAILED"
    alert = alerts(order["order_id"])[-1]
    assert alert["state"] == "sns:NotifyRecoveryFail"
    assert alert["outcome"]["Error"] == "RecoveryFailed"
    causes = alert["outcome"]["Cause"]
    assert {step: "Error" in outcome for step, outcome in causes.items()} == {
        "ReleaseInventory": False,
        "ProcessRefund": True,
        "UpdateOrderStatus": False,
    }
    assert "AccessDenied" in causes["ProcessRefund"]["Cause"]

    (listed,) = [found for found in needing_attention(stack) if found.saga_id == order["order_id"]]
    assert (listed.saga, listed.recovery, listed.standing) == ("FAILED", "FAILED", ("ProcessPayment",))
    name = recover(stack, order["order_id"])
    assert orders.ended(stack, name, seconds=300, output="OrderRecoveryArn").status == "SUCCEEDED"
    assert _invariants(stack, order) == []
    assert order["order_id"] not in [found.saga_id for found in needing_attention(stack)]


@pytest.mark.parametrize("step", STEPS)
def test_stopped_saga_is_undone_even_if_a_step_lands_late(
    stack: Stack, resources: Resources, order: Document, step: str
) -> None:
    with through_proxy(stack, resources, step) as proxy:
        proxy.held.clear()
        arn = _start(stack, order)
        eventually(lambda: orders.execution(stack, order["order_id"]).states[-1:] != [] and _at(stack, order) == step)
        stack.stepfunctions.stop_execution(executionArn=arn)
        eventually(lambda: _all_barred(stack, order))
        proxy.held.set()
        eventually(lambda: proxy.calls != [])
    assert _invariants(stack, order) == []


def _at(stack: Stack, order: Document) -> str:
    states = orders.execution(stack, order["order_id"]).states
    return states[-1].name if states else ""


def test_order_whose_execution_had_another_name_is_recovered_from_its_file(
    stack: Stack, invoke: Invoke, order: Document
) -> None:
    for step in STEPS:
        invoke(step, order)
    name = recover(stack, order["order_id"], order)
    assert orders.ended(stack, name, seconds=300, output="OrderRecoveryArn").status == "SUCCEEDED"
    assert _invariants(stack, order) == []


def test_input_of_an_earlier_deployment_is_finalized(run: Run, stack: Stack, invoke: Invoke, order: Document) -> None:
    for step in STEPS:
        invoke(step, order)
    event = _event(stack, order | {"a field that is refused now": 1}, "SUCCEEDED")
    assert invoke("FinalizeOrder", event).error is None
    assert _invariants(stack, order) == []


def test_sweep_confirms_an_order_whose_event_was_lost(
    run: Run, stack: Stack, resources: Resources, invoke: Invoke, order: Document
) -> None:
    with status_events_lost(stack, resources):
        _start(stack, order)
        orders.ended(stack, order["order_id"], seconds=300)
    invoke("SweepOrders", {})
    young = stack.row("OrdersTable", order_id=order["order_id"])
    assert young is not None
    assert young["status"] == "New"
    _backdate(stack, order)
    invoke("SweepOrders", {})
    assert _invariants(stack, order) == []


def test_sweep_recovers_an_order_whose_event_was_lost(
    run: Run, stack: Stack, resources: Resources, invoke: Invoke, order: Document
) -> None:
    with status_events_lost(stack, resources), denied(stack, resources, "ProcessRefund"):
        run(_too_many(order))
    _backdate(stack, order)
    invoke("SweepOrders", {})
    assert _recovered(stack, order) == "SUCCEEDED"
    assert _invariants(stack, order) == []


def test_unprocessable_event_is_kept(stack: Stack, resources: Resources, order: Document) -> None:
    with denied(stack, resources, "FinalizeOrder"):
        _start(stack, order)
        eventually(lambda: order["order_id"] in _received(stack, resources["FinalizationFailuresQueue"]))
    assert "tok_visa" not in _received(stack, resources["FinalizationFailuresQueue"])


def _received(stack: Stack, queue: str) -> str:
    sqs = stack.client("sqs")
    received = sqs.receive_message(QueueUrl=queue, MaxNumberOfMessages=10, VisibilityTimeout=0, WaitTimeSeconds=1)
    return json.dumps(received.get("Messages", []))


def test_good_order_is_not_recovered_by_command(run: Run, stack: Stack, order: Document) -> None:
    run(order)
    with pytest.raises(NothingToRecover, match="has succeeded"):
        recover(stack, order["order_id"])


def test_interrupted_recovery_is_counted_by_the_sweep(
    run: Run, stack: Stack, resources: Resources, invoke: Invoke, order: Document
) -> None:
    name = order["order_id"]
    with denied(stack, resources, "UpdateOrderStatus"):
        run(_too_many(order))
        eventually(lambda: recovery(stack, name) is not None)
        stack.stepfunctions.stop_execution(executionArn=orders.execution_arn(stack, name, output="OrderRecoveryArn"))
        _backdate(stack, order)
        swept = invoke("SweepOrders", {})
        # Before the denial ends, because an attempt of the recovery may still be in flight.
        eventually(lambda: name in [found.saga_id for found in needing_attention(stack)])
    assert swept.result["standing"] >= 1
    assert orders.ended(stack, recover(stack, name), seconds=300, output="OrderRecoveryArn").status == "SUCCEEDED"
    assert _invariants(stack, order) == []
