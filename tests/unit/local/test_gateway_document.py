"""docs/gateway.md documents everything in a gateway's responses that the payments service needs."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from datetime import timedelta
from typing import Any

import pytest

from idempotency import Happened, LeaseStore, StepCompensated
from ordering.gateway import GatewayUnavailable, HttpGateway
from ordering.payments import Charge, PaymentDeclined
from runtime.bearer import BearerSession
from runtime.keyed import derived_key
from runtime.secrets import Secret
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from tests.kit.project import ROOT
from tests.unit import dynamodb
from tests.unit.ordering import secrets_manager
from tests.unit.ordering.gateway import SECRET, Fixed, answering

TEXT = "".join((ROOT / "docs" / name).read_text() for name in ("gateway.md", "gateway-simulator.md"))
KEY = derived_key("key-of-the-stack", "o-1")
CHARGE = Charge("o-1", 3000, "JPY", "tok_visa")
VALUES = {"key": KEY, "id": "ch_1", "amount": 3000, "currency": "JPY", "refunded": 0, "error": {"code": "expired_card"}}
# The error for a looked-up status; None if the charge is in effect.
OUTCOMES = {
    "succeeded": None,
    "declined": PaymentDeclined,
    "processing": GatewayUnavailable,
    "canceled": StepCompensated,
}


@pytest.fixture(autouse=True)
def _secrets(monkeypatch: pytest.MonkeyPatch) -> None:
    secrets_manager.use(monkeypatch)


def answered(request: str) -> Any:
    """The body of a successful request."""
    section = TEXT.partition(f"### {request}")[2].partition("\n#")[0]
    body = re.search(r"`?(\{\"[^`\n]+\})`", section)
    assert body, f"docs/gateway.md does not say what {request} answers"
    return json.loads(body[1].replace("KEY", json.dumps(KEY)).replace("ch_...", "ch_1"))


def looked_up(status: str) -> dict[str, Any]:
    """A lookup's body: the status, and the fields in its row of the table."""
    section = TEXT.partition("### GET /charges/KEY")[2].partition("\n#")[0]
    row = re.search(rf"^\| `{status}` \| (.+) \|$", section, re.MULTILINE)
    assert row, f"docs/gateway.md does not say what a look-up answers of a charge that is {status}"
    return {"status": status} | {name: VALUES[name] for name in re.findall(r"`(\w+)`", row[1])}


@contextmanager
def speaking(status: int, body: Any) -> Iterator[HttpGateway]:
    """A client of a gateway that always returns the same answer."""
    client, clock = dynamodb.client(), dynamodb.Clock()
    leases = LeaseStore(client, dynamodb.new_table(client), clock=clock, sleep=clock.sleep)
    with answering(Fixed(status, json.dumps(body).encode())) as url:
        secret, stack_key = (Secret(secrets_manager.new_secret(value)) for value in (SECRET, "key-of-the-stack"))
        yield HttpGateway(url, leases, BearerSession(secret), stack_key)


def test_documented_answer_makes_a_charge() -> None:
    with speaking(201, answered("POST /charges")) as gateway:
        assert gateway.charge(CHARGE, deadline=gateway.leases.clock() + timedelta(seconds=15)) == "ch_1"


def test_documented_answer_cancels_a_key() -> None:
    with speaking(200, answered("POST /charges/KEY/cancel")) as gateway:
        gateway.cancel("o-1")


@pytest.mark.parametrize("status", OUTCOMES)
def test_documented_answer_is_understood_by_a_lookup(status: str) -> None:
    expected = OUTCOMES[status]
    with speaking(200, looked_up(status)) as gateway:
        if expected is None:
            assert gateway._find(CHARGE) == Happened("ch_1")
        else:
            with pytest.raises(expected):
                gateway._find(CHARGE)


def shown(heading: str) -> Any:
    """The first example under a heading."""
    example = re.search(r"```json\n(.+?)\n```", TEXT.partition(heading)[2], re.DOTALL)
    assert example
    return json.loads(example[1])


def test_document_shows_the_body_of_a_charge() -> None:
    assert shown("### POST /charges").keys() == asdict(CHARGE).keys()


def test_document_shows_the_ledger(gateway: GatewayClient) -> None:
    gateway.charge(KEY, 3000)
    gateway.cancel(KEY)
    example, ledger = shown("The ledger is read as:"), gateway.ledger()

    assert example.keys() == ledger.keys()
    assert example["charges"][0].keys() == ledger["charges"][0].keys()


def test_document_lists_exactly_the_statuses() -> None:
    section = TEXT.partition("### GET /charges/KEY")[2].partition("\n#")[0]

    assert set(re.findall(r"^\| `(\w+)` \|", section, re.MULTILINE)) - {"status"} == set(OUTCOMES)
