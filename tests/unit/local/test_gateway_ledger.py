"""The ledger of the gateway simulator: one charge per key, and none once the key is canceled."""

from collections.abc import Callable
from functools import partial
from random import Random
from threading import Event
from typing import Any

import pytest

from ordering.payments import PaymentDeclined, authorize
from stepwise.local.simulators.payment_gateway.ledger import (
    ChargeRequest,
    KeyCanceled,
    KeyInUse,
    Ledger,
    Movement,
    Refusal,
    decline,
    standing,
)
from tests.kit.bounded import at_once

TEA = ChargeRequest(3000, "JPY", "tok_visa")
DECLINED = ChargeRequest(3000, "JPY", "tok_declined")
TOKENS = ["tok_visa", "tok_mastercard", "tok_amex", "tok_jcb", "tok_declined", "tok_insufficient_funds", "tok_expired"]


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def stands(ledger: Ledger) -> dict[str, list[int]]:
    return standing(ledger.snapshot()[1])


def moved(ledger: Ledger) -> list[tuple[str, str, int]]:
    return [(movement.kind, movement.key, movement.amount) for movement in ledger.snapshot()[1]]


@pytest.mark.parametrize("token", [*TOKENS, "tok_unknown", ""])
def test_tokens_are_accepted_and_declined_as_without_a_gateway(token: str) -> None:
    try:
        authorize(token)
        expected = None
    except PaymentDeclined as refusal:
        expected = str(refusal)
    said = decline(token)

    assert (said.message if said else None) == expected


def test_charge_lands_once(ledger: Ledger) -> None:
    ledger.accept("o-1", TEA)
    ledger.land("o-1")

    for key in ("o-1", "o-2"):
        with pytest.raises(ValueError, match="no charge with this key"):
            ledger.land(key)
    assert moved(ledger) == [("capture", "o-1", 3000)]


def test_two_captures_of_one_key_are_both_visible() -> None:
    capture, refund = Movement("capture", "o-1", "JPY", 5), Movement("refund", "o-1", "JPY", -5)

    assert standing([capture, capture]) == {"o-1": [5, 5]}
    assert standing([capture, refund, capture]) == {"o-1": [5]}


def test_token_is_in_no_text(ledger: Ledger) -> None:
    ledger.charge("o-1", TEA)

    assert "tok_" not in repr(ledger.snapshot())


# --- threads ---


def all_at_once(calls: list[Callable[[], Any]]) -> list[Any]:
    """Run every call in its own thread, starting together; errors are results, too."""

    def run(call: Callable[[], Any]) -> Any:
        try:
            return call()
        except Refusal as refusal:
            return refusal

    return at_once(*(partial(run, call) for call in calls))


@pytest.mark.parametrize("seed", range(3))
def test_concurrent_charges_and_cancels_leave_nothing_charged(seed: int) -> None:
    ledger = Ledger()
    random, slow = Random(seed), Event()  # noqa: S311
    keys = [f"o-{number}" for number in range(4)]

    def charge(key: str, pause: float) -> Callable[[], Any]:
        return lambda: ledger.charge(key, TEA, working=lambda: slow.wait(pause))

    calls = [charge(key, random.random() / 500) for key in keys for _ in range(6)]
    calls += [lambda key=key: (slow.wait(random.random() / 500), ledger.cancel(key))[1] for key in keys for _ in "ab"]
    random.shuffle(calls)
    all_at_once(calls)

    counts = {key: [kind for kind, of, _ in moved(ledger) if of == key] for key in keys}
    assert stands(ledger) == {}
    assert all(kinds in ([], ["capture", "refund"]) for kinds in counts.values())


DAY = 24 * 3600.0


@pytest.fixture
def clock() -> list[float]:
    return [0.0]


@pytest.fixture
def forgetful(clock: list[float]) -> Ledger:
    """A ledger that remembers a key for one day."""
    return Ledger(retention=DAY, clock=lambda: clock[0])


def test_key_is_remembered_for_the_retention_period(forgetful: Ledger, clock: list[float]) -> None:
    first, _ = forgetful.charge("o-1", TEA)
    clock[0] = DAY

    assert forgetful.charge("o-1", TEA) == (first, True)


def test_forgotten_key_is_charged_again(forgetful: Ledger, clock: list[float]) -> None:
    first, _ = forgetful.charge("o-1", TEA)
    clock[0] = DAY + 1
    second, replayed = forgetful.charge("o-1", TEA)

    assert (replayed, second.charge_id == first.charge_id) == (False, False)
    assert stands(forgetful) == {"o-1": [3000, 3000]}


def test_forgotten_charge_is_found_and_refunded_by_key(forgetful: Ledger, clock: list[float]) -> None:
    first, _ = forgetful.charge("o-1", TEA)
    clock[0] = DAY + 1

    assert forgetful.lookup("o-1") == first
    assert (forgetful.cancel("o-1").refunded, forgetful.cancel("o-1").refunded) == (3000, 3000)
    assert stands(forgetful) == {}


def test_cancel_refunds_every_charge_under_the_key(forgetful: Ledger, clock: list[float]) -> None:
    forgetful.charge("o-1", TEA)
    clock[0] = DAY + 1
    forgetful.charge("o-1", TEA)

    assert forgetful.cancel("o-1").refunded == 6000
    assert stands(forgetful) == {}
    with pytest.raises(KeyCanceled):
        forgetful.charge("o-1", TEA)


def test_live_charge_is_found_although_a_later_one_was_declined(forgetful: Ledger, clock: list[float]) -> None:
    first, _ = forgetful.charge("o-1", TEA)
    clock[0] = DAY + 1
    forgetful.charge("o-1", DECLINED)

    assert forgetful.lookup("o-1") == first


def test_forgotten_cancel_bars_nothing(forgetful: Ledger, clock: list[float]) -> None:
    forgetful.cancel("o-1")
    clock[0] = DAY + 1

    assert forgetful.charge("o-1", TEA)[0].status == "succeeded"


def test_charge_in_progress_is_not_forgotten(forgetful: Ledger, clock: list[float]) -> None:
    forgetful.accept("o-1", TEA)
    clock[0] = DAY + 1

    with pytest.raises(KeyInUse):
        forgetful.charge("o-1", TEA)
    assert forgetful.land("o-1").status == "succeeded"
