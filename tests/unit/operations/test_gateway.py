"""The gateway's ledger of an order, over HTTP."""

from typing import Any

import pytest

from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.operations import gateway as ledger
from stepwise.operations.gateway import LedgerUnavailable
from stepwise.operations.stack import Stack


def stack_at(address: str, charges_at: str | None = None) -> Stack:
    session: Any = None
    parameters = {"PaymentGatewayUrl": address if charges_at is None else charges_at}
    return Stack(session, None, {}, parameters, services={"gateway": address})


def test_charge_of_an_order_counts_until_it_is_refunded(gateway: GatewayClient) -> None:
    gateway.charge("key-1", 3000, order_id="o-1")
    gateway.charge("key-2", 500, order_id="o-2")
    stack = stack_at(gateway.address)
    (stands,) = ledger.charges(stack, "o-1") or []
    gateway.cancel("key-1")
    (refunded,) = ledger.charges(stack, "o-1") or []

    assert (stands.status, stands.amount, stands.currency, stands.standing) == ("succeeded", 3000, "JPY", 3000)
    assert stands.requests == {"charge": 1}
    assert (refunded.status, refunded.standing, refunded.refunds) == ("canceled", 0, 1)


def test_uncharged_order_is_not_in_the_ledger(gateway: GatewayClient) -> None:
    assert ledger.charges(stack_at(gateway.address), "o/9") == []


def test_stack_with_another_gateway_has_no_ledger(gateway: GatewayClient) -> None:
    assert ledger.charges(stack_at(gateway.address, charges_at=""), "o-1") is None


def test_unresponsive_ledger_is_reported() -> None:
    with pytest.raises(LedgerUnavailable, match="did not answer"):
        ledger.charges(stack_at("http://127.0.0.1:1"), "o-1")
