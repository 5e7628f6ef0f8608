"""`stepwise fault` on the simulators themselves."""

from collections.abc import Callable, Iterator
from http.client import HTTPException
from types import SimpleNamespace
from unittest import mock

import pytest

from stepwise.local.emulator import emulator
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from tests.kit.command_line import Ended, stepwise
from tests.kit.connect_simulator import serving

type Fault = Callable[..., Ended]


@pytest.fixture
def fault(gateway: GatewayClient) -> Iterator[Fault]:
    with serving() as connect:
        endpoints = {"gateway": gateway.address, "connect": connect.server.address, "webhooks": "https://localhost:1"}
        with mock.patch.object(emulator, "running", return_value=SimpleNamespace(simulators=endpoints)):
            yield lambda *arguments: stepwise("fault", *arguments, "--json")


def test_answer_to_one_charge_is_lost_after_its_effect(fault: Fault, gateway: GatewayClient) -> None:
    assert fault("answer_lost", "--on", "charge").code == 0
    with pytest.raises((ConnectionError, HTTPException)):
        gateway.charge("k-1", 3000)

    assert gateway.lookup("k-1").document["status"] == "succeeded"
    assert gateway.charge("k-2", 3000).status == 201


def test_fault_applies_to_one_order_several_times(fault: Fault, gateway: GatewayClient) -> None:
    assert fault("fails_before", "--on", "charge", "--order-id", "o-2", "--times", "2", "--status", "503").code == 0

    assert gateway.charge("k-1", 1, order_id="o-1").status == 201
    assert [gateway.charge("k-2", 1, order_id="o-2").status for _ in range(3)] == [503, 503, 201]


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["bogus", "--on", "charge"], "bogus"),
        (["answer_lost", "--on", "Bogus"], "no operation Bogus"),
        (["garbage", "--on", "CreateUser"], "garbage"),
        (["hang", "--on", "charge"], "hang"),
        (["answer_lost", "--times", "0"], "--times"),
    ],
)
def test_unsupported_fault_is_explained(fault: Fault, arguments: list[str], says: str) -> None:
    ended = fault(*arguments)

    assert (ended.code, ended.error) == (2, None)
    assert says in ended.err


def test_connect_faults_are_injected(fault: Fault) -> None:
    ended = fault("answer_lost", "--on", "CreateUser")

    assert (ended.code, '"simulator": "connect"' in ended.out) == (0, True)


def test_without_a_stack_no_fault_is_injected() -> None:
    ended = stepwise("fault", "answer_lost", "--port", str(emulator.free_port()))

    assert ended.code == 3
    assert "start" in ended.err
