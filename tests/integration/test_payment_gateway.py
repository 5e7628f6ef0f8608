"""Orders that are charged at a gateway: a second stack from the same template, and faults of the simulator."""

import json
import os
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

from idempotency import LeaseRecord
from ordering.gateway import CHARGE
from runtime.keyed import derived_key
from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.local.emulator.emulator import LocalStackError
from stepwise.local.simulators.payment_gateway import secret
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.local.simulators.payment_gateway.faults import (
    AnswerLost,
    AnyFault,
    Injection,
)
from stepwise.local.simulators.payment_gateway.server import GatewayServer
from stepwise.operations import orders, work
from stepwise.operations.recovery import needing_attention, recovery
from stepwise.operations.stack import Stack
from tests.kit.belongings import Belongings
from tests.kit.consistency import broken_invariants
from tests.kit.injection import Resources, environment, eventually
from tests.kit.local_stack import Document, Saga
from tests.kit.project import ROOT

type Run = Callable[..., Saga]

NAME = "stepwise-gateway"


@pytest.fixture(scope="module")
def server() -> Iterator[GatewayServer]:
    with GatewayServer().serving() as started:
        yield started


@pytest.fixture(scope="module")
def gateway(server: GatewayServer) -> GatewayClient:
    return GatewayClient(server.address)


@pytest.fixture(scope="module")
def stack(running: emulator.Emulator, server: GatewayServer) -> Stack:
    deploy(running.endpoint, running.log, name=NAME, **secret.parameters(running.endpoint, server.address))
    return Stack.local(running.endpoint, NAME, running.simulators)


@pytest.fixture(scope="module")
def belongings(stack: Stack) -> Belongings:
    return Belongings(stack)


@pytest.fixture(scope="module")
def resources(stack: Stack) -> Resources:
    return Resources(stack, NAME)


@pytest.fixture
def ordered(gateway: GatewayClient, order: Document) -> Callable[..., None]:
    """Inject faults into the requests of the test's own order."""

    def inject(fault: AnyFault, on: Any = "any", **more: Any) -> None:
        gateway.inject(Injection(fault, on=on, order_id=order["order_id"], **more))

    return inject


def _key(stack: Stack, resources: Resources, order: Document) -> str:
    manager = secret.client(stack.endpoint or "")
    return derived_key(manager.get_secret_value(SecretId=resources["PaymentKey"])["SecretString"], order["order_id"])


def _row(gateway: GatewayClient, order: Document) -> Document:
    """The ledger's row of the order's charge."""
    (found,) = [charge for charge in gateway.ledger()["charges"] if charge["order_id"] == order["order_id"]] or [{}]
    return found


def _finalized(stack: Stack, gateway: GatewayClient, order: Document) -> tuple[str, list[int]]:
    """The order's status and live charges, once nothing is in flight. Checks every invariant."""
    eventually(lambda: not gateway.ledger()["in_flight"])
    standing = gateway.ledger()["standing"].get(_row(gateway, order).get("key"), [])
    seen = orders.finalized(stack, order["order_id"])
    payment = seen.payment
    captured = [payment["amount"]] if payment and payment["status"] == "Captured" else []
    assert standing == captured
    assert broken_invariants(stack, [order["order_id"]], {order["items"][0]["sku"]: 10}) == []
    assert seen.order is not None
    return seen.order["status"], standing


def _requests(gateway: GatewayClient, order: Document) -> dict[str, int]:
    requests: dict[str, int] = gateway.ledger()["requests"].get(_row(gateway, order).get("key"), {})
    return requests


@contextmanager
def _elsewhere(stack: Stack, resources: Resources, address: str, *functions: str) -> Iterator[None]:
    """Point the functions at another gateway address."""
    with ExitStack() as changed:
        for function in functions:
            changed.enter_context(environment(stack, resources, function, PAYMENT_GATEWAY_URL=address))
        yield


def _recovered(stack: Stack, name: str) -> str:
    eventually(lambda: recovery(stack, name) is not None)
    return orders.ended(stack, name, seconds=300, output="OrderRecoveryArn").status


def _charge(stack: Stack, order: Document) -> LeaseRecord:
    return work.record(stack, order["order_id"], CHARGE.name)


def _history(stack: Stack, name: str) -> str:
    arn = orders.execution_arn(stack, name)
    pages = stack.stepfunctions.get_paginator("get_execution_history").paginate(executionArn=arn)
    return json.dumps([page["events"] for page in pages], default=str)


def _log(stack: Stack, function: str) -> str:
    pages = (
        stack.client("logs").get_paginator("filter_log_events").paginate(logGroupName=f"/aws/lambda/{NAME}/{function}")
    )
    return "\n".join(event["message"] for page in pages for event in page["events"])


def test_good_order_is_charged_once(run: Run, stack: Stack, gateway: GatewayClient, order: Document) -> None:
    saga = run(order)
    assert saga.execution.status == "SUCCEEDED"
    assert _finalized(stack, gateway, order) == ("Confirmed", [3000])
    assert _requests(gateway, order) == {"charge": 1}
    assert saga.view.payment is not None
    assert saga.view.payment["charge_id"] == _row(gateway, order)["id"]


def test_declined_card_is_charged_once(run: Run, stack: Stack, gateway: GatewayClient, order: Document) -> None:
    saga = run(order | {"payment": {"method": "card", "token": "tok_expired"}})
    assert saga.visit("ProcessPayment").errors == ["PaymentDeclined"]
    assert "the card has expired" in (saga.execution.cause or "")
    assert _finalized(stack, gateway, order) == ("Pending", [])
    assert _requests(gateway, order) == {"charge": 1, "cancel": 1}
    assert _charge(stack, order) not in work.operations(stack).listed()


def test_order_is_undone_once_the_gateway_is_back(
    run: Run, stack: Stack, resources: Resources, gateway: GatewayClient, order: Document
) -> None:
    nobody = f"http://127.0.0.1:{emulator.free_port()}"
    with _elsewhere(stack, resources, nobody, "ProcessPayment", "ProcessRefund"):
        saga = run(order)
        assert saga.visit("ProcessPayment").errors == ["GatewayUnavailable"] * 5
        assert saga.states[-2:] == ["sns:NotifyProcessRefundFail", "OrderFailed"]
        eventually(lambda: recovery(stack, order["order_id"]) is not None)
    assert _recovered(stack, order["order_id"]) == "SUCCEEDED"
    assert _finalized(stack, gateway, order) == ("Pending", [])
    key = _key(stack, resources, order)
    assert gateway.ledger()["requests"][key].keys() == {"cancel"}
    assert key not in _history(stack, order["order_id"]) + _log(stack, "ProcessPayment")


def test_failed_refund_is_listed_and_recovered_by_command(
    run: Run, stack: Stack, resources: Resources, gateway: GatewayClient, order: Document, ordered: Callable[..., None]
) -> None:
    """No payment row exists: each attempt to charge lost its answer, and so did each lookup."""
    name = order["order_id"]
    ordered(AnswerLost(), on="charge", times=9)
    ordered(AnswerLost(), on="lookup", times=9)
    with _elsewhere(stack, resources, f"{gateway.address}/v2", "ProcessRefund"):
        saga = run(order)
        assert saga.visit("ProcessPayment").errors == ["GatewayUnavailable"] * 5
        # A page without the key proves nothing, whatever its status.
        assert set(saga.visit("ProcessRefund").errors) == {"GatewayUnavailable"}
        assert _recovered(stack, name) == "FAILED"
        assert gateway.ledger()["standing"][_row(gateway, order)["key"]] == [3000]
    (listed,) = [found for found in needing_attention(stack) if found.saga_id == name]
    assert listed.standing == ("ProcessPayment",)
    assert _charge(stack, order) in work.listed(stack)
    _stepwise(stack, "recover", name)
    assert _finalized(stack, gateway, order) == ("Pending", [])
    assert _charge(stack, order) not in work.listed(stack)
    assert name not in [found.saga_id for found in needing_attention(stack)]


def _stepwise(stack: Stack, *arguments: str) -> None:
    port = (stack.endpoint or "").rpartition(":")[2]
    subprocess.run(
        [str(ROOT / "stepwise"), *arguments, "--port", port, "--stack", NAME],
        env=os.environ | {"COLUMNS": "200"},
        capture_output=True,
        timeout=60,
        check=True,
    )


def test_no_log_or_history_holds_a_token_secret_or_key(
    run: Run, stack: Stack, resources: Resources, order: Document
) -> None:
    run(order | {"payment": {"method": "card", "token": "tok_in_private"}})
    logs = _log(stack, "ProcessPayment") + _log(stack, "ProcessRefund")
    value = secret.client(stack.endpoint or "").get_secret_value(SecretId=secret.NAME)["SecretString"]
    assert "PaymentDeclined" in logs
    assert "tok_" not in logs
    for hidden in (value, _key(stack, resources, order)):
        assert hidden not in logs + _history(stack, order["order_id"])


def test_gateway_without_a_secret_is_not_deployed(running: emulator.Emulator, gateway: GatewayClient) -> None:
    with pytest.raises(LocalStackError, match="PaymentGatewaySecretArn is required"):
        deploy(running.endpoint, running.log, name="stepwise-open", PaymentGatewayUrl=gateway.address)
