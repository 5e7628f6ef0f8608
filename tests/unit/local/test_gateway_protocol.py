"""Every status of the protocol in docs/gateway.md, over HTTP."""

import http.client
import json
import os
import subprocess
import sys
import time
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import pytest

from stepwise.local.simulators.payment_gateway import secret
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.local.simulators.payment_gateway.faults import Injection, SlowWorking
from stepwise.local.simulators.payment_gateway.server import GatewayServer
from tests.kit.bounded import Threads, program
from tests.kit.project import TOOLS
from tests.unit.ordering import secrets_manager
from tests.unit.ordering.gateway import SECRET, counts, row

GOOD = {"order_id": "o-1", "amount": 3000, "currency": "JPY", "token": "tok_visa"}


def post(gateway: GatewayClient, body: bytes, **headers: str) -> Any:
    return gateway.send("POST", "/charges", body, {name.replace("_", "-"): value for name, value in headers.items()})


def test_same_charge_again_is_replayed(gateway: GatewayClient) -> None:
    first, second = gateway.charge("o-1", 3000), gateway.charge("o-1", 3000)

    assert (second.status, second.body) == (first.status, first.body)
    assert second.headers["Idempotent-Replayed"] == "true"
    assert counts(gateway, "o-1") == (1, 0)


@pytest.mark.parametrize(
    ("token", "code"),
    {
        "tok_declined": "card_declined",
        "tok_insufficient_funds": "insufficient_funds",
        "tok_expired": "expired_card",
        "tok_of_someone_else": "card_declined",
    }.items(),
)
def test_declined_charge_is_replayed_too(gateway: GatewayClient, token: str, code: str) -> None:
    first, second = (gateway.charge("o-1", 3000, token=token) for _ in range(2))

    assert (first.status, first.code) == (402, code)
    assert (second.status, second.body) == (first.status, first.body)
    assert ("Idempotent-Replayed" in first.headers, second.headers["Idempotent-Replayed"]) == (False, "true")
    assert gateway.lookup("o-1").document["error"] == first.document["error"]
    assert counts(gateway, "o-1") == (0, 0)


def test_key_is_in_use_while_its_charge_is_in_progress(gateway: GatewayClient) -> None:
    gateway.inject(Injection(SlowWorking(ms=1500), on="charge"))
    with Threads(1) as pool:
        first = pool.submit(gateway.charge, "o-1", 3000)
        while gateway.lookup("o-1").status == 404:
            time.sleep(0.005)
        second, seen = gateway.charge("o-1", 3000), gateway.lookup("o-1").document
        assert (second.status, second.code, seen["status"]) == (409, "key_in_use", "processing")
        assert first.result().status == 201


def test_cancel_bars_a_charge_in_progress(gateway: GatewayClient) -> None:
    gateway.inject(Injection(SlowWorking(ms=1500), on="charge"))
    with Threads(1) as pool:
        charge = pool.submit(gateway.charge, "o-1", 3000)
        while gateway.lookup("o-1").status == 404:
            time.sleep(0.005)
        assert gateway.cancel("o-1").document == {"key": "o-1", "status": "canceled", "refunded": 0}
        assert (charge.result().status, charge.result().code) == (409, "key_canceled")
    assert counts(gateway, "o-1") == (0, 0)


@pytest.mark.parametrize("status", [400, 401, 402, 404, 409, 422])
def test_every_error_names_the_key(gateway: GatewayClient, status: int) -> None:
    gateway.charge("used", 3000)
    gateway.cancel("canceled")
    calls = {
        400: lambda: gateway.charge("o-1", 0),
        401: lambda: replace(gateway, secret="wrong").lookup("o-1"),
        402: lambda: gateway.charge("o-1", 3000, token="tok_declined"),
        404: lambda: gateway.lookup("o-1"),
        409: lambda: gateway.charge("canceled", 3000),
        422: lambda: gateway.charge("used", 1),
    }
    response = calls[status]()

    assert (response.status, response.document["key"]) == (status, {409: "canceled", 422: "used"}.get(status, "o-1"))


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"amount": -1}, "amount"),
        ({"amount": 0}, "amount"),
        ({"amount": 30.5}, "amount"),
        ({"amount": "3000"}, "amount"),
        ({"amount": True}, "amount"),
        ({"amount": 10**30}, "amount"),
        ({"currency": "yen"}, "currency"),
        ({"currency": None}, "currency"),
        ({"token": ""}, "token"),
        ({"token": ["tok_visa"]}, "token"),
        ({"order_id": ""}, "order_id"),
        ({"tip": 1}, "tip"),
    ],
    ids=str,
)
def test_invalid_field_is_named(gateway: GatewayClient, change: dict[str, Any], field: str) -> None:
    response = post(gateway, json.dumps(GOOD | change).encode(), Idempotency_Key="o-1")

    assert (response.status, response.code, response.document["error"]["field"]) == (400, "invalid_request", field)
    assert row(gateway, "o-1") is None


@pytest.mark.parametrize("missing", GOOD)
def test_missing_field_is_named(gateway: GatewayClient, missing: str) -> None:
    body = {name: value for name, value in GOOD.items() if name != missing}
    response = post(gateway, json.dumps(body).encode(), Idempotency_Key="o-1")

    assert (response.status, response.document["error"]["field"]) == (400, missing)


@pytest.mark.parametrize("body", [b"", b"{", b"[]", b"3", b"null", b"\xff", b'"\\ud800"'])
def test_body_that_is_not_a_json_object_is_rejected(gateway: GatewayClient, body: bytes) -> None:
    response = post(gateway, body, Idempotency_Key="o-1")

    assert (response.status, response.document["error"]["field"]) == (400, "body")


@pytest.mark.parametrize("headers", [{}, {"Idempotency_Key": ""}, {"Idempotency_Key": "k" * 256}], ids=len)
def test_charge_key_is_limited_to_255_characters(gateway: GatewayClient, headers: dict[str, str]) -> None:
    response = post(gateway, json.dumps(GOOD).encode(), **headers)

    assert (response.status, response.document["error"]["field"]) == (400, "Idempotency-Key")
    assert gateway.ledger()["charges"] == []


@pytest.mark.parametrize("key", ["k" * 255, "o-1/refund", "a%2Fb", "cancel", "x?y#z", "+&;"])
def test_key_may_contain_any_visible_characters(gateway: GatewayClient, key: str) -> None:
    gateway.charge(key, 3000)

    assert gateway.lookup(key).document["key"] == key
    assert gateway.cancel(key).document == {"key": key, "status": "canceled", "refunded": 3000}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/charges", 405),
        ("DELETE", "/charges/o-1", 405),
        ("GET", "/charges/o-1/cancel", 405),
        ("GET", "/", 404),
        ("POST", "/charges/o-1/refund", 404),
        ("GET", "/_simulator/nothing", 404),
    ],
)
def test_unknown_path_or_method_is_rejected(gateway: GatewayClient, method: str, path: str, status: int) -> None:
    assert gateway.send(method, path).status == status


def test_oversized_body_is_not_read(gateway: GatewayClient) -> None:
    response = post(gateway, b"", Idempotency_Key="o-1", Content_Length=str(10**6))

    assert (response.status, response.document["error"]["field"]) == (400, "body")


def test_ledger_reports_requests_and_live_charges(gateway: GatewayClient) -> None:
    gateway.charge("o-1", 3000)
    gateway.charge("o-1", 3000)
    gateway.charge("o-2", 500, currency="USD")
    gateway.charge("o-3", 100)
    gateway.cancel("o-3")
    gateway.charge("o-4", 7, token="tok_declined")
    gateway.lookup("o-5")
    ledger = gateway.ledger()

    assert [(charge["key"], charge["status"]) for charge in ledger["charges"]] == [
        ("o-1", "succeeded"),
        ("o-2", "succeeded"),
        ("o-3", "canceled"),
        ("o-4", "declined"),
    ]
    assert ledger["requests"]["o-1"] == {"charge": 2}
    assert ledger["requests"]["o-3"] == {"charge": 1, "cancel": 1}
    assert ledger["requests"]["o-5"] == {"lookup": 1}
    assert ledger["standing"] == {"o-1": [3000], "o-2": [500]}
    assert ledger["sums"] == {
        "JPY": {"captured": 3100, "refunded": 100, "standing": 3000},
        "USD": {"captured": 500, "refunded": 0, "standing": 500},
    }


def test_ledger_lists_every_charge_with_its_order(gateway: GatewayClient) -> None:
    gateway.charge("key-1", 3000, order_id="o-1")
    gateway.charge("key-2", 7, order_id="o-2", token="tok_declined")
    gateway.cancel("key-3")

    listed = [(row["order_id"], row["amount"], row["status"]) for row in gateway.ledger()["charges"]]
    assert listed == [("o-1", 3000, "succeeded"), ("o-2", 7, "declined"), (None, 0, "canceled")]


@pytest.mark.parametrize("wrong", ["", "wrong", SECRET.upper(), f"{SECRET} "])
def test_request_without_an_accepted_secret_is_rejected_and_does_nothing(gateway: GatewayClient, wrong: str) -> None:
    gateway.charge("o-1", 3000)
    stranger = replace(gateway, secret=wrong)
    responses = [stranger.charge("o-2", 1), stranger.lookup("o-1"), stranger.cancel("o-1")]

    assert {(response.status, response.code) for response in responses} == {(401, "unauthorized")}
    assert stranger.ledger()["standing"] == {"o-1": [3000]}
    assert row(gateway, "o-2") is None


def test_current_and_previous_secret_are_accepted(gateway: GatewayClient) -> None:
    for new in ("second", "third", "third"):
        gateway.rotate(new)
    statuses = {known: replace(gateway, secret=known).lookup("o-1").status for known in (SECRET, "second", "third")}

    assert statuses == {SECRET: 401, "second": 404, "third": 404}


def test_local_stack_keeps_its_secret_across_restarts(gateway: GatewayClient, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(secret, "client", lambda _: secrets_manager.client())
    first, second = (secret.parameters("endpoint", gateway.address) for _ in range(2))
    kept = secrets_manager.client().get_secret_value(SecretId=first["PaymentGatewaySecretArn"])["SecretString"]

    assert (first, first["PaymentGatewayUrl"]) == (second, gateway.address)
    assert replace(gateway, secret=kept).lookup("o-1").status == 404


def test_simulator_without_a_secret_rejects_everyone() -> None:
    with GatewayServer().serving() as server:
        assert GatewayClient(server.address, secret=SECRET).charge("o-1", 3000).status == 401


@pytest.mark.parametrize("body", [b"", b"{}", b'{"secret": ""}', b'{"secret": "x", "old": "y"}'])
def test_rotation_to_an_empty_secret_is_rejected(gateway: GatewayClient, body: bytes) -> None:
    assert gateway.send("POST", "/_simulator/secret", body).status == 400
    assert gateway.lookup("o-1").status == 404


def test_reset_forgets_everything(gateway: GatewayClient) -> None:
    gateway.charge("o-1", 3000)
    gateway.inject(Injection(SlowWorking(ms=1)))
    gateway.reset()

    ledger = gateway.ledger()
    assert set(ledger) == {"charges", "requests", "deliveries", "sums", "standing", "in_flight"}
    assert not any(ledger.values())
    assert gateway.send("GET", "/_simulator/faults").document == {"pending": []}


def test_connection_serves_many_requests_without_delay(gateway: GatewayClient) -> None:
    connection = http.client.HTTPConnection(urlsplit(gateway.address).netloc, timeout=60)
    took = []
    for number in range(50):
        began = time.monotonic()
        headers = {"Idempotency-Key": f"o-{number}", "Authorization": f"Bearer {SECRET}"}
        connection.request("POST", "/charges", json.dumps(GOOD), headers)
        response = connection.getresponse()
        assert (response.status, response.will_close, response.read()[:1]) == (201, False, b"{")
        took.append(time.monotonic() - began)
    connection.close()

    # A delayed acknowledgement would cost every request 40 ms; a busy machine delays some.
    assert sorted(took)[5] < 0.04


def test_process_reports_its_port_and_ends_when_its_standard_input_closes() -> None:
    with program(
        [sys.executable, "-m", "stepwise.local.simulators.payment_gateway"],
        cwd=TOOLS.parent,
        env={"PATH": os.environ["PATH"]},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as process:
        assert process.stdout is not None
        port = int(process.stdout.readline())
        client = GatewayClient(f"http://127.0.0.1:{port}", secret=SECRET)
        client.rotate(SECRET)
        assert client.charge("o-1", 3000).status == 201
        _, said = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "Traceback" not in said
    assert "tok_" not in said
    assert SECRET not in said
