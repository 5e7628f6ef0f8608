"""Requests to a receiver that fails, hangs, streams forever or redirects."""

import json
import socket
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
import requests
from standardwebhooks import Webhook, WebhookVerificationError

from runtime.exchange import tls_context
from stepwise.local.simulators.webhook_receiver.client import ReceiverClient, parameters
from stepwise.local.simulators.webhook_receiver.faults import Drip, Drop, Endless, Hang, Injection, Interim, Status
from tests.unit.dynamodb import Clock
from webhooks.addresses import Receivers
from webhooks.delivering import utc_now
from webhooks.endpoints import headers, new_secret
from webhooks.errors import AddressRefused, InvalidWebhook, NotSent
from webhooks.sending import Answer, Sender

METADATA = "https://169.254.169.254/latest/meta-data/"
# Seconds instead of ten, for a sender whose deadline passes, and for one that succeeds even on a busy machine.
SECONDS, ENOUGH = 1.0, 60.0
SLACK = 10.0

type Post = Callable[[], Answer]


@pytest.fixture
def sender(receiver: ReceiverClient) -> Sender:
    return sender_to(receiver, ENOUGH)


def sender_to(receiver: ReceiverClient, seconds: float) -> Sender:
    own = parameters(receiver.address)
    trusted = tls_context(own["WebhookCaCertificate"])
    return Sender(Receivers.of(own["WebhookReceivers"]), trusted, total_seconds=seconds)


@pytest.fixture
def post(sender: Sender, receiver: ReceiverClient) -> Post:
    return lambda: sender.send(receiver.url("r"), {}, "{}")


def test_standard_webhooks_library_verifies_each_active_secret(sender: Sender, receiver: ReceiverClient) -> None:
    new, old = new_secret(), new_secret()
    receiver.trust("r", old)
    body = json.dumps({"type": "command.finished", "data": {"name": "日本"}}, ensure_ascii=False)
    answer = sender.send(receiver.url("r"), headers([new, old], "evt_1", utc_now(), body), body)

    (message,) = receiver.messages("r")
    sent: Any = {f"webhook-{name}": message[name] for name in ("id", "timestamp", "signature")}
    assert (answer.status, message["id"], message["verified"]) == (200, "evt_1", True)
    for secret in (new, old):
        assert Webhook(secret).verify(message["body"], sent) == json.loads(body)
    with pytest.raises(WebhookVerificationError):
        Webhook(new_secret()).verify(message["body"], sent)
    with pytest.raises(WebhookVerificationError):
        Webhook(new).verify(message["body"].replace("finished", "failed"), sent)


def test_old_message_sent_again_has_a_fresh_timestamp() -> None:
    secret, clock = new_secret(), Clock()

    with pytest.raises(WebhookVerificationError, match="too old"):
        Webhook(secret).verify("{}", headers([secret], "evt_1", clock(), "{}"))


@pytest.mark.parametrize("codes", [(103,), (100, 102, 103), (103,) * 16])
def test_interim_responses_are_not_answers(codes: Any, post: Post, receiver: ReceiverClient) -> None:
    receiver.inject(Injection(Interim(codes)))

    assert post().status == 200


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        (Interim((103,) * 17), "more than 16 interim responses"),
        (Interim((101,)), "not valid HTTP"),
        (Status(200, {"X": "y" * 200_000}), "headers have more than 64 KiB"),
    ],
    ids=["endless", "another protocol", "headers"],
)
def test_unusable_response_has_a_reason(fault: Any, reason: str, post: Post, receiver: ReceiverClient) -> None:
    receiver.inject(Injection(fault))
    with pytest.raises(NotSent, match=reason):
        post()


@pytest.mark.slow
@pytest.mark.parametrize("fault", [Hang(), Drip(0.2)], ids=["hang", "drip"])
def test_slow_receiver_is_abandoned_at_the_deadline(fault: Any, receiver: ReceiverClient) -> None:
    receiver.inject(Injection(fault))
    hurried = sender_to(receiver, SECONDS)
    began = time.monotonic()
    with pytest.raises(NotSent, match=r"^no answer in time$"):
        hurried.send(receiver.url("r"), {}, "{}")

    assert time.monotonic() - began < SECONDS + SLACK


@pytest.mark.slow
def test_slow_body_does_not_delay_a_delivery(post: Post, receiver: ReceiverClient) -> None:
    receiver.inject(Injection(Drip(0.3, headers=False), times=1))

    assert (post().status, post().status) == (200, 401)


@pytest.mark.parametrize("fault", [Endless(), Endless(307, {"Location": METADATA}), Endless(500)])
def test_only_the_start_of_an_endless_body_is_read(fault: Endless, post: Post, receiver: ReceiverClient) -> None:
    """This includes a redirect's body: the session of requests reads all of it, even if it follows none."""
    receiver.inject(Injection(fault))
    began = time.monotonic()
    answer = post()

    assert (answer.status, len(answer.body)) == (fault.code, 4096)
    assert time.monotonic() - began < ENOUGH / 2


def test_redirect_is_not_followed(post: Post, receiver: ReceiverClient) -> None:
    receiver.inject(Injection(Status(302, {"Location": receiver.url("elsewhere")})))

    assert not post().accepted
    assert [one["name"] for one in receiver.messages()] == ["r"]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("120", 120),
        ("-5", 0),
        ("soon", 0),
        ("Fri, 01 Jan 2100 00:00:00 GMT", 10**6),
        ("Fri, 31 Dec 9999 23:59:59 GMT", 10**6),
        ("Fri, 01 Jan 2100 00:00:00 +99999999999999999999", 0),
    ],
)
def test_retry_after_of_the_receiver_is_read(text: str, seconds: int, post: Post, receiver: ReceiverClient) -> None:
    receiver.inject(Injection(Status(429, {"Retry-After": text})))
    asked = post().retry_after

    assert min(asked, 10**6) == seconds
    assert utc_now() + timedelta(days=1, seconds=asked) > utc_now(), "a time that `datetime` holds"


def test_lost_answer_has_a_reason_without_the_address(post: Post, receiver: ReceiverClient) -> None:
    receiver.inject(Injection(Drop()))
    with pytest.raises(NotSent, match=r"^no connection, or it was closed without an answer$"):
        post()


def test_name_is_resolved_once_and_the_checked_address_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """DNS that changes its answer between check and connection has no effect."""
    asked: list[str] = []
    connected: list[Any] = []

    def resolve(host: str, _: int) -> list[str]:
        asked.append(host)
        return ["93.184.215.14"] if len(asked) == 1 else ["127.0.0.1"]

    def create_connection(address: Any, timeout: float) -> socket.socket:
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", create_connection)
    with pytest.raises(NotSent):
        Sender(Receivers(), tls_context(), resolve).send("https://hooks.example.com/", {}, "{}")

    assert (asked, connected) == (["hooks.example.com"], [("93.184.215.14", 443)])


def test_certificate_and_server_name_match_the_host_name(receiver: ReceiverClient) -> None:
    own = parameters(receiver.address)
    port = receiver.address.rpartition(":")[2]
    trusting, other = tls_context(own["WebhookCaCertificate"]), f"hooks.example.com:{port}@127.0.0.1"

    with pytest.raises(NotSent, match=r"^TLS failed"):
        Sender(Receivers.of(own["WebhookReceivers"]), tls_context()).send(receiver.url("r"), {}, "{}")
    with pytest.raises(NotSent, match=r"^TLS failed"):
        Sender(Receivers.of(other), trusting).send(f"https://hooks.example.com:{port}/hooks/r", {}, "{}")
    assert receiver.messages() == []


def test_proxies_and_credentials_of_the_environment_are_ignored(
    post: Post, receiver: ReceiverClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTPS_PROXY", "https_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", "/nowhere")
    with pytest.raises(OSError, match="/nowhere"):
        requests.post(receiver.url("r"), timeout=1)

    assert post().status == 401


def test_hanging_resolver_is_abandoned(monkeypatch: pytest.MonkeyPatch) -> None:
    def resolve(*_: Any) -> list[str]:
        time.sleep(SECONDS)
        return []

    with pytest.raises(NotSent, match=r"^no answer in time$"):
        Sender(Receivers(), tls_context(), resolve, total_seconds=0.2).send("https://hooks.example.com/", {}, "{}")


@pytest.mark.parametrize(
    ("resolve", "error", "reason"),
    [
        (lambda *_: ["169.254.169.254"], AddressRefused, "link-local"),
        (lambda *_: [], NotSent, "does not resolve"),
        (lambda *_: socket.getaddrinfo("no.such.invalid", 443), NotSent, "does not resolve"),
    ],
)
def test_unreachable_address_is_not_connected_to(resolve: Any, error: type[Exception], reason: str) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(socket, "create_connection", lambda *_, **__: pytest.fail("connected"))
        with pytest.raises(error, match=reason):
            Sender(Receivers(), tls_context(), resolve).send("https://hooks.example.com/?token=t0ken", {}, "{}")


def test_nothing_is_sent_to_a_forbidden_address(sender: Sender) -> None:
    with pytest.raises(InvalidWebhook, match=r"^url: "):
        sender.send(METADATA, {}, "{}")
