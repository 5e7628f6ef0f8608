"""Every fault of the gateway simulator, seen by a client that reads the ledger afterwards."""

import http.client
import json
import time
from contextlib import suppress
from typing import Any

import pytest

from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.local.simulators.payment_gateway.faults import (
    AnswerLost,
    AnyFault,
    DeliveredAgain,
    FailsAfter,
    FailsBefore,
    Garbage,
    Injection,
    RequestLost,
)
from stepwise.local.simulators.payment_gateway.messages import Kind
from stepwise.local.simulators.payment_gateway.server import GatewayServer
from stepwise.local.simulators.serving import FaultPlan
from tests.unit.ordering.gateway import counts

# A timeout is not one of these: the connection has to end.
NO_ANSWER = (ConnectionError, http.client.IncompleteRead)
# Longer than any machine takes for a request.
LONG = 2000


@pytest.mark.parametrize("fault", [FailsBefore(), RequestLost()])
def test_lost_request_is_counted_separately(gateway: GatewayClient, fault: AnyFault) -> None:
    gateway.inject(Injection(fault))
    with suppress(*NO_ANSWER):
        gateway.charge("o-1", 3000)
    ledger = gateway.ledger()

    assert (ledger["requests"], ledger["deliveries"]) == ({"o-1": {"charge": 1}}, {})


def test_late_delivery_after_a_cancel_charges_nothing(gateway: GatewayClient) -> None:
    gateway.inject(Injection(DeliveredAgain((LONG,)), on="charge"))
    gateway.charge("o-1", 3000)
    gateway.cancel("o-1")

    assert gateway.ledger()["in_flight"] == 1
    assert counts(gateway, "o-1") == (1, 1)
    assert gateway.ledger()["deliveries"]["o-1"] == {"charge": 2, "cancel": 1}


def test_late_delivery_does_not_land_after_a_reset(gateway: GatewayClient) -> None:
    gateway.inject(Injection(DeliveredAgain((30,))))
    gateway.charge("o-1", 3000)
    gateway.reset()
    time.sleep(0.06)

    assert gateway.ledger()["charges"] == []


@pytest.mark.parametrize("on", ["lookup", "cancel"])
@pytest.mark.parametrize("fault", [FailsBefore(503), FailsAfter(500)])
def test_faults_apply_to_lookups_and_cancels(gateway: GatewayClient, on: Any, fault: AnyFault) -> None:
    gateway.charge("o-1", 3000)
    gateway.inject(Injection(fault, on=on))

    answers = {"charge": gateway.charge("o-1", 3000), "lookup": gateway.lookup("o-1"), "cancel": gateway.cancel("o-1")}
    assert {kind for kind, answer in answers.items() if answer.status >= 500} == {on}
    canceled = on == "lookup" or isinstance(fault, FailsAfter)
    assert counts(gateway, "o-1") == (1, int(canceled))


def test_first_injected_fault_is_nearest_to_the_client(gateway: GatewayClient) -> None:
    gateway.inject(Injection(Garbage("empty")), Injection(FailsAfter(503)), Injection(DeliveredAgain()))
    first = gateway.charge("o-1", 3000)
    gateway.inject(Injection(FailsAfter(503)), Injection(Garbage("empty")))
    second = gateway.charge("o-2", 3000)

    assert (first.status, first.body) == (503, b"")
    assert (second.status, second.code) == (503, "processor_error")
    assert counts(gateway, "o-1") == counts(gateway, "o-2") == (1, 0)
    assert gateway.ledger()["deliveries"] == {"o-1": {"charge": 2}, "o-2": {"charge": 1}}


def test_fault_for_a_key_counts_its_requests(gateway: GatewayClient) -> None:
    gateway.inject(Injection(FailsBefore(), on="charge", key="o-1", times=2))

    assert gateway.charge("o-2", 1).status == 201
    assert [gateway.charge("o-1", 1).status for _ in range(3)] == [500, 500, 201]


def test_fault_for_an_order_counts_its_requests(gateway: GatewayClient) -> None:
    gateway.inject(Injection(FailsBefore(), order_id="o-1", times=4))
    first = [gateway.charge("key-1", 1, order_id="o-1").status, gateway.charge("key-2", 1, order_id="o-2").status]
    # A key belongs to no order before its charge arrives.
    second = [gateway.lookup("key-1").status, gateway.charge("key-1", 1, order_id="o-1").status]
    gateway.send("DELETE", "/_simulator/faults")
    gateway.charge("key-1", 1, order_id="o-1")
    gateway.inject(Injection(FailsBefore(), order_id="o-1", times=2))

    assert (first, second) == ([500, 201], [404, 500])
    assert [gateway.lookup("key-1").status, gateway.cancel("key-1").status, gateway.lookup("key-2").status] == [
        500,
        500,
        200,
    ]


def drawn(injection: Injection, number: int) -> list[bool]:
    plan: FaultPlan[Injection] = FaultPlan()
    plan.add(injection)
    return [is_drawn(plan, "charge") for _ in range(number)]


def is_drawn(plan: FaultPlan[Injection], kind: Kind) -> bool:
    return bool(plan.draw(lambda one: one.matches(kind, "o-1", None)))


def test_probability_is_met_and_repeats_with_its_seed() -> None:
    of_seed = {seed: drawn(Injection(FailsBefore(), probability=0.25, seed=seed), 1000) for seed in (1, 2)}

    assert 200 < sum(of_seed[1]) < 300
    assert of_seed[1] == drawn(Injection(FailsBefore(), probability=0.25, seed=1), 1000)
    assert of_seed[1] != of_seed[2]


def test_probability_may_have_a_limit() -> None:
    assert sum(drawn(Injection(FailsBefore(), probability=0.5, times=3), 1000)) == 3


def test_nonmatching_call_consumes_no_fault() -> None:
    plan: FaultPlan[Injection] = FaultPlan()
    plan.add(Injection(FailsBefore(), on="cancel", probability=0.5, seed=3))
    assert not any(is_drawn(plan, "charge") for _ in range(10))

    assert [is_drawn(plan, "cancel") for _ in range(50)] == drawn(Injection(FailsBefore(), probability=0.5, seed=3), 50)


@pytest.mark.parametrize(
    "order",
    [
        {},
        {"fault": {"kind": "earthquake"}},
        {"fault": {"kind": "slow_before"}},
        {"fault": {"kind": "slow_before", "ms": -1}},
        {"fault": {"kind": "fails_before", "status": 418}},
        {"fault": {"kind": "answer_lost"}, "times": 0},
        {"fault": {"kind": "answer_lost"}, "probability": 2},
        {"fault": {"kind": "answer_lost"}, "on": "refund"},
        {"fault": {"kind": "answer_lost"}, "untill": 3},
        {"fault": {"kind": "delivered_again", "after_ms": []}},
    ],
    ids=str,
)
def test_scenario_without_a_fault_is_rejected(gateway: GatewayClient, order: dict[str, Any]) -> None:
    response = gateway.send("POST", "/_simulator/faults", json.dumps(order).encode())

    assert (response.status, response.code) == (400, "invalid_request")
    assert gateway.send("GET", "/_simulator/faults").document == {"pending": []}


def test_faults_are_listed_and_withdrawn(gateway: GatewayClient, gateway_server: GatewayServer) -> None:
    gateway.inject(Injection(AnswerLost(), on="charge", times=2))
    (pending,) = gateway.send("GET", "/_simulator/faults").document["pending"]

    assert (pending["left"], pending["injection"]["fault"]) == (2, {"kind": "answer_lost"})
    assert gateway.send("DELETE", "/_simulator/faults").document == {"pending": []}
    assert gateway_server.simulator.faults.draw("charge", "o-1") == []
