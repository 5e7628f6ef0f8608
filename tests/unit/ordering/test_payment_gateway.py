"""Payments through a gateway, against the simulator: the effect of each answer and each fault on a charge."""

import json
import logging
import time
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest

from idempotency import (
    AlreadyInProgress,
    BusinessError,
    LeaseOperations,
    LeaseStore,
    Step,
    StepCompensated,
    StepStore,
    TransientError,
)
from idempotency.saga import SagaSteps
from idempotency.saga.state import may_stand_outside
from ordering.definition import ORDER_SAGA, PROCESS_PAYMENT
from ordering.gateway import CHARGE, GatewayRefused, GatewayUnavailable, HttpGateway
from ordering.payments import Charge, PaymentDeclined, Payments, PaymentsTable
from ordering.requests import parse_order
from runtime import bearer
from runtime.bearer import BearerSession
from runtime.exchange import Place, Request, Response
from runtime.keyed import derived_key
from runtime.saga import Task
from runtime.secrets import Secret, SecretRefused, SecretUnavailable
from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.local.simulators.payment_gateway.faults import (
    AnotherAnswer,
    AnswerCut,
    AnswerLost,
    AnyFault,
    DeliveredAgain,
    FailsAfter,
    FailsBefore,
    Garbage,
    Injection,
    Interim,
    RequestLost,
    SlowAfter,
    SlowBefore,
    SlowWorking,
)
from tests.kit.orders import good_order
from tests.unit import dynamodb
from tests.unit.ordering import secrets_manager
from tests.unit.ordering.gateway import SECRET, Fixed, answering, counts

TOKEN = "tok_visa"
SPOKEN = "words-of-the-gateway"
STACK_KEY = "key-of-the-stack"
KEY = derived_key(STACK_KEY, "o-1")
CHARGE_OF_O1 = Charge("o-1", 3000, "JPY", TOKEN)

NOTHING_DONE = [FailsBefore(), FailsBefore(429), FailsBefore(502), FailsBefore(503), FailsBefore(504), RequestLost()]
ALL_DONE = [
    FailsAfter(),
    FailsAfter(503),
    AnswerLost(),
    AnswerCut(),
    Garbage("not_json"),
    Garbage("empty"),
    Garbage("wrong_shape"),
    Garbage("another_charge"),
]
# Statuses that the simulator never returns, and their meaning for a charge.
REFUSALS = [301, 302, 303, 307, 308, 400, 401, 403, 404, 405, 410, 413, 422]
UNDECIDED = [202, 204, 408, 409, 425, 429, 500, 501, 502, 503, 504, 599]


@dataclass
class Heard:
    """The requests that were sent. before: called with each of them."""

    sent: list[Request] = field(default_factory=list)
    before: Callable[[Request], object] = lambda _: None


@dataclass(frozen=True, slots=True)
class Listening(BearerSession):
    """Sends requests and records them."""

    heard: Heard = field(default_factory=Heard)

    def transmit(self, place: Place, request: Request) -> Response:
        self.heard.sent.append(request)
        self.heard.before(request)
        return BearerSession.transmit(self, place, request)


@dataclass
class Desk:
    """A gateway client with its own lease table."""

    gateway: HttpGateway
    clock: dynamodb.Clock
    operations: LeaseOperations

    @property
    def heard(self) -> Heard:
        http = self.gateway.http
        assert isinstance(http, Listening)
        return http.heard

    def charge(self, charge: Charge = CHARGE_OF_O1) -> str:
        return self.gateway.charge(charge, deadline=self.clock() + timedelta(seconds=15))

    def at(self, url: str) -> "Desk":
        """Another gateway client on the same table."""
        http = Listening(self.gateway.http.secret)
        return Desk(replace(self.gateway, url=url, http=http), self.clock, self.operations)

    @property
    def sent(self) -> list[str]:
        return [f"{sent.method} {sent.target}" for sent in self.heard.sent]

    def record(self) -> Any:
        (found,) = self.operations.find("o-1", [CHARGE.name])
        return found


@pytest.fixture
def desk(gateway: GatewayClient, monkeypatch: pytest.MonkeyPatch) -> Desk:
    secrets_manager.use(monkeypatch)
    client, clock = dynamodb.client(), dynamodb.Clock()
    table = dynamodb.new_table(client)
    leases = LeaseStore(client, table, clock=clock, sleep=clock.sleep)
    secret, stack_key = (Secret(secrets_manager.new_secret(value)) for value in (SECRET, STACK_KEY))
    made = HttpGateway(gateway.address, leases, Listening(secret), stack_key)
    return Desk(made, clock, LeaseOperations(client, table, clock=clock))


@pytest.fixture
def errors(caplog: pytest.LogCaptureFixture) -> Callable[[], list[str]]:
    """The ERROR lines so far, which raise the alarm."""
    return lambda: [record.message for record in caplog.records if record.levelno >= logging.ERROR]


@contextmanager
def short_reads() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bearer, "READ_SECONDS", 0.1)
        yield


def error_body(code: str = SPOKEN, **more: Any) -> bytes:
    return json.dumps({"key": KEY, "error": {"code": code, "message": SPOKEN}, **more}).encode()


def told(caught: pytest.ExceptionInfo[BaseException], log: pytest.LogCaptureFixture) -> str:
    """Every part of an error that may reach a history or a log."""
    message = "".join(traceback.format_exception_only(caught.value))
    return message + repr([vars(record) for record in log.records])


def test_charge_returns_the_gateways_id_and_is_made_once(desk: Desk, gateway: GatewayClient, errors: Any) -> None:
    first = desk.charge()

    assert first == gateway.lookup(KEY).document["id"]
    assert desk.charge() == first
    assert desk.sent == ["POST /charges"]
    assert counts(gateway, KEY) == (1, 0)
    assert errors() == []


def test_charge_matches_the_request(desk: Desk, gateway: GatewayClient) -> None:
    desk.charge()

    (found,) = gateway.ledger()["charges"]
    assert {name: found[name] for name in ("key", "order_id", "amount", "currency", "status")} == {
        "key": KEY,
        "order_id": "o-1",
        "amount": 3000,
        "currency": "JPY",
        "status": "succeeded",
    }


@pytest.mark.parametrize(
    ("token", "reason"),
    [
        ("tok_declined", "the card was declined"),
        ("tok_insufficient_funds", "the card has insufficient funds"),
        ("tok_expired", "the card has expired"),
        ("tok_nobody_knows", "the card was declined"),
    ],
)
def test_decline_is_final_stored_and_replayed_without_a_call(desk: Desk, errors: Any, token: str, reason: str) -> None:
    for _ in range(3):
        with pytest.raises(PaymentDeclined, match=f"^{reason}$"):
            desk.charge(replace(CHARGE_OF_O1, token=token))

    assert desk.sent == ["POST /charges"]
    assert errors() == []


def test_decline_for_an_unknown_reason_has_a_general_message(desk: Desk, caplog: pytest.LogCaptureFixture) -> None:
    with answering(Fixed(402, error_body())) as url, pytest.raises(PaymentDeclined) as caught:
        desk.at(url).charge()

    assert SPOKEN not in told(caught, caplog)


def test_decline_with_a_lost_answer_is_found_by_key(desk: Desk, gateway: GatewayClient) -> None:
    declined = replace(CHARGE_OF_O1, token="tok_expired")
    gateway.inject(Injection(AnswerLost(), on="charge"))
    with pytest.raises(GatewayUnavailable):
        desk.charge(declined)
    with pytest.raises(PaymentDeclined, match=r"^the card has expired$"):
        desk.charge(declined)

    assert desk.sent == ["POST /charges", f"GET /charges/{KEY}"]


def test_charge_of_a_cancelled_key_is_compensated_and_not_looked_up_again(desk: Desk, gateway: GatewayClient) -> None:
    gateway.cancel(KEY)
    for _ in range(2):
        with pytest.raises(StepCompensated):
            desk.charge()

    assert desk.sent == ["POST /charges"]
    assert counts(gateway, KEY) == (0, 0)


@pytest.mark.parametrize("fault", NOTHING_DONE, ids=repr)
def test_unsent_charge_is_looked_up_and_then_made(
    desk: Desk, gateway: GatewayClient, errors: Any, fault: AnyFault
) -> None:
    gateway.inject(Injection(fault, on="charge"))
    with pytest.raises(GatewayUnavailable):
        desk.charge()
    desk.charge()

    assert desk.sent == ["POST /charges", f"GET /charges/{KEY}", "POST /charges"]
    assert counts(gateway, KEY) == (1, 0)
    assert errors() == []


@pytest.mark.parametrize("fault", ALL_DONE, ids=repr)
def test_charge_with_a_lost_answer_is_looked_up_and_not_repeated(
    desk: Desk, gateway: GatewayClient, errors: Any, fault: AnyFault
) -> None:
    gateway.inject(Injection(fault, on="charge"))
    with pytest.raises(GatewayUnavailable):
        desk.charge()

    assert desk.charge() == gateway.lookup(KEY).document["id"]
    assert desk.sent == ["POST /charges", f"GET /charges/{KEY}"]
    assert errors() == []


@pytest.mark.slow
@pytest.mark.parametrize("fault", [SlowBefore(400), SlowWorking(400), SlowAfter(400)], ids=repr)
def test_slow_charge_is_looked_up_until_known(desk: Desk, gateway: GatewayClient, errors: Any, fault: AnyFault) -> None:
    gateway.inject(Injection(fault, on="charge"))
    with short_reads(), pytest.raises(GatewayUnavailable, match="no answer in time"):
        desk.charge()
    counts(gateway, KEY)

    assert desk.charge() == gateway.lookup(KEY).document["id"]
    assert desk.sent == ["POST /charges", f"GET /charges/{KEY}"]
    assert counts(gateway, KEY) == (1, 0)
    assert errors() == []


def test_charge_in_progress_stays_undecided(desk: Desk, gateway: GatewayClient) -> None:
    # Longer than any machine takes for the lookup; nothing waits for the end.
    gateway.inject(Injection(SlowWorking(5000), on="charge"))
    with short_reads(), pytest.raises(GatewayUnavailable):
        desk.charge()
    with pytest.raises(GatewayUnavailable):
        desk.charge()

    assert desk.sent == ["POST /charges", f"GET /charges/{KEY}"]


@pytest.mark.parametrize("fault", [*NOTHING_DONE, *ALL_DONE], ids=repr)
def test_unanswered_lookup_is_retried(desk: Desk, gateway: GatewayClient, fault: AnyFault) -> None:
    gateway.inject(Injection(AnswerLost(), on="charge"), Injection(fault, on="lookup"))
    for _ in range(2):
        with pytest.raises(GatewayUnavailable):
            desk.charge()
    desk.charge()

    assert desk.sent == ["POST /charges", f"GET /charges/{KEY}", f"GET /charges/{KEY}"]
    assert counts(gateway, KEY) == (1, 0)


def test_charge_delivered_twice_is_one_charge(desk: Desk, gateway: GatewayClient) -> None:
    gateway.inject(Injection(DeliveredAgain((0, 0)), on="charge"))
    # The answer may be that the other delivery is in progress.
    with suppress(GatewayUnavailable):
        desk.charge()

    assert counts(gateway, KEY) == (1, 0)


def test_missing_gateway_is_unavailable(desk: Desk, errors: Any) -> None:
    with answering(Fixed(200)) as url:
        pass
    with pytest.raises(GatewayUnavailable, match=r"^POST /charges/KEY/cancel: no connection"):
        desk.at(url).gateway.cancel("o-1")

    assert errors() == []


@pytest.mark.parametrize("status", UNDECIDED)
def test_inconclusive_response_is_transient(desk: Desk, errors: Any, status: int) -> None:
    with answering(Fixed(status, b"" if status == 204 else error_body())) as url, pytest.raises(GatewayUnavailable):
        desk.at(url).charge()

    assert errors() == []
    assert desk.record().status == "UNKNOWN"


@pytest.mark.parametrize("status", REFUSALS)
def test_refusal_caused_by_us_is_final_and_logs_one_error_line(desk: Desk, errors: Any, status: int) -> None:
    with answering(Fixed(status, error_body())) as url, pytest.raises(GatewayRefused, match=str(status)):
        desk.at(url).charge()

    assert errors() == ["the payment gateway refuses our request"]


@pytest.mark.parametrize("body", [b"{}", error_body(key="key-2"), b"<html>", b'{"key": "key-2", ' + error_body()[1:]])
@pytest.mark.parametrize("status", [200, 201, *UNDECIDED, *REFUSALS, 402])
def test_response_without_the_request_key_decides_nothing(desk: Desk, errors: Any, status: int, body: bytes) -> None:
    """It may be the response to another request. One that looks like our fault raises the alarm nevertheless."""
    wrong = [402, *REFUSALS]
    with answering(Fixed(status, b"" if status == 204 else body)) as url:
        for call in (desk.at(url).charge, desk.at(url).charge, lambda: desk.at(url).gateway.cancel("o-1")):
            with pytest.raises(GatewayUnavailable, match=str(status)):
                call()

    assert len(errors()) == (3 if status in wrong else 0)
    assert desk.record().status == "UNKNOWN"


@pytest.mark.parametrize("status", [200, 201, 400, 402, 404, 409])
def test_charge_is_looked_up_after_the_answer_to_another_request(
    desk: Desk, gateway: GatewayClient, status: Any
) -> None:
    gateway.inject(Injection(AnotherAnswer(status), on="charge"), Injection(AnotherAnswer(status), on="lookup"))
    for _ in range(2):
        with pytest.raises(GatewayUnavailable):
            desk.charge()

    assert desk.charge() == gateway.lookup(KEY).document["id"]
    assert counts(gateway, KEY) == (1, 0)


def test_decline_without_its_key_is_confirmed_by_the_lookup(desk: Desk, gateway: GatewayClient) -> None:
    """A gateway of the protocol's first version can still decline, with one more request."""
    declined = replace(CHARGE_OF_O1, token="tok_declined")
    gateway.inject(Injection(AnotherAnswer(402), on="charge"))
    with pytest.raises(GatewayUnavailable):
        desk.charge(declined)
    with pytest.raises(PaymentDeclined):
        desk.charge(declined)


@pytest.mark.parametrize("code", ["no_such_path", ""])
def test_404_with_another_code_does_not_answer_a_lookup(desk: Desk, gateway: GatewayClient, code: str) -> None:
    gateway.inject(Injection(AnswerLost(), on="charge"))
    with pytest.raises(GatewayUnavailable):
        desk.charge()
    with answering(Fixed(404, error_body(code))) as url, pytest.raises(GatewayRefused):
        desk.at(url).charge()

    assert desk.record().status == "UNKNOWN"


@pytest.mark.parametrize("statuses", [(103,), (100, 102, 103), (103,) * 16])
def test_interim_responses_are_skipped(desk: Desk, gateway: GatewayClient, statuses: Any) -> None:
    gateway.inject(Injection(Interim(statuses), times=3))
    charge_id = desk.charge()
    with pytest.raises(PaymentDeclined):
        desk.charge(replace(CHARGE_OF_O1, order_id="o-2", token="tok_declined"))
    desk.gateway.cancel("o-1")

    assert charge_id == gateway.lookup(KEY).document["id"]
    assert counts(gateway, KEY) == (1, 1)


def test_environment_and_netrc_do_not_affect_requests(
    desk: Desk, gateway: GatewayClient, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    (tmp_path / "netrc").write_text("machine 127.0.0.1 login stranger password secret\n")
    monkeypatch.setenv("NETRC", str(tmp_path / "netrc"))
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    desk.charge()

    assert counts(gateway, KEY) == (1, 0)


def test_gateway_errors_match_the_retries_of_the_state_machine() -> None:
    assert issubclass(GatewayRefused, BusinessError)
    assert issubclass(PaymentDeclined, BusinessError)
    assert issubclass(GatewayUnavailable, TransientError)


def test_malformed_field_is_rejected(desk: Desk, errors: Any) -> None:
    with pytest.raises(GatewayRefused, match="400"):
        desk.charge(replace(CHARGE_OF_O1, currency="yen"))

    assert len(errors()) == 1


def test_key_used_by_another_charge_is_rejected(desk: Desk, gateway: GatewayClient, errors: Any) -> None:
    gateway.charge(KEY, 1, order_id="o-1")
    with pytest.raises(GatewayRefused, match="422"):
        desk.charge()

    assert len(errors()) == 1


def test_charge_with_another_amount_is_rejected_but_may_be_in_effect(
    desk: Desk, gateway: GatewayClient, errors: Any
) -> None:
    gateway.charge(KEY, 1, order_id="o-1")
    gateway.inject(Injection(RequestLost(), on="charge"))
    with pytest.raises(GatewayUnavailable):
        desk.charge()
    with pytest.raises(GatewayRefused, match="another amount"):
        desk.charge()

    assert len(errors()) == 1
    assert may_stand_outside(desk.record().status, None)


def test_rejected_lookup_leaves_the_charge_unknown(desk: Desk, gateway: GatewayClient) -> None:
    gateway.inject(Injection(AnswerLost(), on="charge"))
    with pytest.raises(GatewayUnavailable):
        desk.charge()
    with answering(Fixed(401, error_body())) as url, pytest.raises(GatewayRefused):
        desk.at(url).charge()

    assert may_stand_outside(desk.record().status, None)
    assert desk.charge() == gateway.lookup(KEY).document["id"]
    assert counts(gateway, KEY) == (1, 0)


def test_no_redirect_is_followed(desk: Desk, gateway: GatewayClient) -> None:
    elsewhere = Fixed(307, error_body(), headers={"Location": f"{gateway.address}/charges"})
    with answering(elsewhere) as url, pytest.raises(GatewayRefused):
        desk.at(url).charge()

    assert gateway.ledger()["requests"] == {}


@pytest.mark.parametrize("status", [200, 201, 401, 402, 409, 500])
def test_errors_and_logs_contain_no_token_and_no_gateway_message(
    desk: Desk, caplog: pytest.LogCaptureFixture, status: int
) -> None:
    caplog.set_level(logging.DEBUG, "payments")
    with answering(Fixed(status, error_body())) as url, pytest.raises(Exception) as caught:  # noqa: PT011
        desk.at(url).charge()

    assert [one for one in (TOKEN, SPOKEN, SECRET, KEY, STACK_KEY) if one in told(caught, caplog)] == []
    assert TOKEN not in repr(CHARGE_OF_O1)
    assert SECRET not in repr(desk.gateway)


def test_request_timeouts_are_two_and_five_seconds_in_total(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[Any] = []
    monkeypatch.setattr(Request, "send", lambda _, *more: given.append(more[1:]) or Response(503, {}, b""))
    began = time.monotonic()
    with pytest.raises(GatewayUnavailable):
        desk.charge()

    ((deadline, limits),) = given
    assert (limits.connect, limits.response, limits.whole) == (2, 5, True)
    assert began + 7 <= deadline.at <= time.monotonic() + 7


def test_retry_waits_for_a_crashed_owner_and_then_looks_up(desk: Desk, gateway: GatewayClient) -> None:
    class Died(BaseException):
        pass

    def die(_: Request) -> None:
        raise Died

    dying = desk.at(gateway.address)
    dying.heard.before = die
    began = desk.clock()
    with pytest.raises(Died):
        dying.charge()
    _forget_the_end(desk)
    for _ in range(2):
        with pytest.raises(AlreadyInProgress):
            desk.charge()
    desk.charge()

    assert desk.sent == [f"GET /charges/{KEY}", "POST /charges"]
    assert desk.clock() - began < timedelta(seconds=12)


def _forget_the_end(desk: Desk) -> None:
    """Set a lease back to in progress: a crashed process records nothing."""
    leases = desk.gateway.leases
    leases._backend.client.update_item(
        TableName=leases._backend.table.name,
        Key={"pk": {"S": CHARGE.record_key("o-1")}},
        UpdateExpression="SET #status = :status",
        ExpressionAttributeNames={"#status": "status"},
        ExpressionAttributeValues={":status": {"S": "IN_PROGRESS"}},
    )


def test_concurrent_duplicate_gets_the_first_result(desk: Desk, gateway: GatewayClient) -> None:
    duplicate = desk.at(gateway.address)
    refused: list[Exception] = []

    def deliver_again(_: Request) -> None:
        with pytest.raises(AlreadyInProgress) as caught:
            duplicate.charge()
        refused.append(caught.value)

    desk.heard.before = deliver_again
    first = desk.charge()

    assert duplicate.charge() == first
    assert (len(refused), duplicate.sent, counts(gateway, KEY)) == (1, [], (1, 0))


def test_slow_lookup_leaves_the_charge_a_full_lease(desk: Desk, gateway: GatewayClient) -> None:
    left: list[timedelta] = []

    def take_seven_seconds(sent: Request) -> None:
        if sent.method == "POST":
            left.append(desk.record().lease_until - desk.clock())
        desk.clock.sleep(7)

    gateway.inject(Injection(RequestLost(), on="charge"))
    desk.heard.before = take_seven_seconds
    with pytest.raises(GatewayUnavailable):
        desk.charge()
    desk.charge()

    assert len(left) == 2
    assert min(left) > timedelta(seconds=sum((bearer.CONNECT_SECONDS, bearer.READ_SECONDS)))


def test_cancel_refunds_the_charge_once(desk: Desk, gateway: GatewayClient) -> None:
    desk.charge()
    for _ in range(3):
        desk.gateway.cancel("o-1")

    assert counts(gateway, KEY) == (1, 1)


def test_cancel_bars_a_charge_in_flight(desk: Desk, gateway: GatewayClient) -> None:
    gateway.inject(Injection(SlowWorking(200), on="charge"), Injection(DeliveredAgain((100,)), on="charge"))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bearer, "READ_SECONDS", 0.05)
        with pytest.raises(GatewayUnavailable):
            desk.charge()
    desk.gateway.cancel("o-1")

    counts(gateway, KEY)
    assert gateway.ledger()["standing"] == {}


@pytest.mark.parametrize("fault", [*NOTHING_DONE, *ALL_DONE], ids=repr)
def test_unanswered_cancel_is_retried(desk: Desk, gateway: GatewayClient, errors: Any, fault: AnyFault) -> None:
    desk.charge()
    gateway.inject(Injection(fault, on="cancel"))
    with pytest.raises(GatewayUnavailable):
        desk.gateway.cancel("o-1")
    desk.gateway.cancel("o-1")

    assert counts(gateway, KEY) == (1, 1)
    assert errors() == []


@pytest.mark.parametrize("status", REFUSALS)
def test_refused_cancel_is_our_fault(desk: Desk, errors: Any, status: int) -> None:
    with answering(Fixed(status, error_body())) as url, pytest.raises(GatewayRefused):
        desk.at(url).gateway.cancel("o-1")

    assert len(errors()) == 1


@pytest.mark.parametrize(
    "body",
    [{}, {"key": KEY, "status": "succeeded"}, {"key": "key-2", "status": "canceled"}, {"status": "canceled"}, []],
    ids=repr,
)
def test_cancel_needs_an_answer_for_its_key(desk: Desk, body: Any) -> None:
    answer = Fixed(200, json.dumps(body).encode())
    with answering(answer) as url, pytest.raises(GatewayUnavailable):
        desk.at(url).gateway.cancel("o-1")


def rotated(desk: Desk, gateway: GatewayClient, secret: str) -> GatewayClient:
    """Rotate the secret on both sides, the gateway first."""
    gateway.rotate(secret)
    secrets_manager.client().put_secret_value(SecretId=desk.gateway.http.secret._arn, SecretString=secret)
    return replace(gateway, secret=secret)


def test_key_is_the_hmac_of_the_order_id_under_the_stacks_key() -> None:
    # printf o-1001 | openssl dgst -sha256 -hmac key-of-the-stack
    assert derived_key(STACK_KEY, "o-1001") == "289f24e7b43306639a40b90b7559261dffc2826e025d007a2647f84c8d06fc71"


@pytest.mark.parametrize("moment", range(4))
def test_secret_rotation_during_work_keeps_one_charge(
    desk: Desk, gateway: GatewayClient, errors: Any, moment: int
) -> None:
    """It is rotated twice, before any of four requests, so that the cached secret is not even the previous one."""
    requests = 0

    def rotate(_: Request) -> None:
        nonlocal requests
        requests += 1
        if requests == moment + 1:
            for secret in ("second", "third"):
                rotated(desk, gateway, secret)

    desk.heard.before = rotate
    gateway.inject(Injection(RequestLost(), on="charge", times=1))
    with pytest.raises(GatewayUnavailable):
        desk.charge()
    desk.charge()
    desk.gateway.cancel("o-1")

    present = replace(gateway, secret="third")
    assert counts(present, KEY) == (1, 1)
    assert present.ledger()["standing"] == {}
    assert len(desk.sent) == 4 + 1
    assert errors() == []


def test_every_execution_environment_picks_up_a_new_secret(desk: Desk, gateway: GatewayClient) -> None:
    arn, others = desk.gateway.http.secret._arn, range(5)
    environments = [replace(desk.gateway, http=BearerSession(Secret(arn))) for _ in others]
    for environment in environments:
        environment.cancel("o-0")
    rotated(desk, gateway, "second")
    present = rotated(desk, gateway, "third")
    for number, environment in enumerate(environments):
        environment.charge(
            replace(CHARGE_OF_O1, order_id=f"o-{number}x"), deadline=desk.clock() + timedelta(seconds=15)
        )

    assert [counts(present, derived_key(STACK_KEY, f"o-{number}x")) for number in others] == [(1, 0)] * 5


def test_secret_is_read_again_only_when_rejected(
    desk: Desk, gateway: GatewayClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, secret = secrets_manager.use(monkeypatch), desk.gateway.http.secret._arn
    desk.charge()
    desk.gateway.cancel("o-1")
    assert read == [desk.gateway.stack_key._arn, secret]

    gateway.rotate("second")
    desk.gateway.cancel("o-1")
    assert read.count(secret) == 1
    gateway.rotate("third")
    with pytest.raises(GatewayRefused):
        desk.gateway.cancel("o-1")
    assert read.count(secret) == 2


@pytest.mark.parametrize("status", [401, 403])
def test_refused_secret_is_an_error_line_and_never_decides_a_charge(
    desk: Desk, gateway: GatewayClient, monkeypatch: pytest.MonkeyPatch, errors: Any, status: int
) -> None:
    read = secrets_manager.use(monkeypatch)
    with answering(Fixed(status, error_body())) as url, pytest.raises(GatewayRefused, match=str(status)):
        desk.at(url).charge()
    assert read.count(desk.gateway.http.secret._arn) == 2
    assert errors() == ["the payment gateway refuses our request"]
    assert may_stand_outside(desk.record().status, None)

    desk.charge()
    assert counts(gateway, KEY) == (1, 0)


def test_late_rejection_is_left_to_the_next_attempt(desk: Desk, gateway: GatewayClient) -> None:
    """Otherwise the function would time out."""
    desk.charge()
    desk.gateway = replace(desk.gateway, http=replace(desk.gateway.http, clock=lambda: desk.clock().timestamp()))
    rotated(desk, gateway, "second")
    present = rotated(desk, gateway, "third")
    desk.heard.before = lambda _: desk.clock.sleep(3)
    with pytest.raises(GatewayUnavailable, match=r"^POST /charges/KEY/cancel: NotSent$"):
        desk.gateway.cancel("o-1")
    desk.gateway.cancel("o-1")

    assert len(desk.sent) == 3
    assert counts(present, KEY) == (1, 1)


@pytest.mark.parametrize("value", ['{"token": "x"}', "with space", "line\n", "käse"])
def test_malformed_secret_is_rejected_before_use_and_read_again(
    desk: Desk, caplog: pytest.LogCaptureFixture, value: str
) -> None:
    manager, arn = secrets_manager.client(), desk.gateway.http.secret._arn
    manager.put_secret_value(SecretId=arn, SecretString=value)
    with pytest.raises(GatewayRefused, match="bearer token") as caught:
        desk.charge()

    assert value not in told(caught, caplog)
    assert desk.sent == []
    manager.put_secret_value(SecretId=arn, SecretString=SECRET)
    desk.charge()


def test_unreadable_secret_is_our_fault_or_an_outage(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    for raised, expected in ((SecretRefused("-"), GatewayRefused), (SecretUnavailable("-"), GatewayUnavailable)):

        def fail(_: Secret, error: Exception = raised) -> str:
            raise error

        monkeypatch.setattr(Secret, "read", fail)
        with pytest.raises(expected):
            desk.charge()
    assert desk.sent == []


@pytest.mark.parametrize("by_gateway", [True, False])
def test_free_order_is_paid_without_a_charge_and_can_be_refunded(
    desk: Desk, gateway: GatewayClient, by_gateway: bool
) -> None:
    """The token does not matter, either."""
    client = dynamodb.client()
    tables = {step.table: dynamodb.new_table(client, key=step.key) for step in ORDER_SAGA.steps}
    store = StepStore(client, desk.gateway.leases._backend.table.name)
    payments = Payments(
        SagaSteps(ORDER_SAGA, store, tables),
        PaymentsTable(tables["PaymentsTable"]),
        desk.gateway if by_gateway else None,
    )
    free = good_order("o-1", items=[{"sku": "gift", "quantity": 2, "unit_price": 0}])
    free["payment"]["token"] = "tok_declined"
    store.commit(Step("o-1", "ProcessOrder", free, "r", desk.clock()), [], {})
    step = Step("o-1", PROCESS_PAYMENT.name, free, "r", desk.clock())
    task = Task(parse_order(free), step, desk.clock() + timedelta(seconds=15))

    def row() -> Any:
        found = client.get_item(TableName=tables["PaymentsTable"], Key={PROCESS_PAYMENT.key: {"S": "o-1"}})["Item"]
        return found["amount"]["N"], found["status"]["S"], "charge_id" in found

    first, second = payments.process(task), payments.process(task)
    assert (first, first["amount"], row()) == (second, 0, ("0", "Captured", False))
    assert desk.sent == []

    assert [payments.refund(task) for _ in range(2)] == [{"undone": True}] * 2
    assert row() == ("0", "Refunded", False)
    assert desk.sent == ([f"POST /charges/{KEY}/cancel"] if by_gateway else [])
    assert counts(gateway, KEY) == (0, 0)


def test_finalization_finds_the_lease_by_its_name() -> None:
    assert CHARGE.name == PROCESS_PAYMENT.outside
