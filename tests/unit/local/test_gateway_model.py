"""The ledger of the gateway simulator against a model: random calls, in any order and number."""

from collections.abc import Callable
from typing import Any

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule

from stepwise.local.simulators.payment_gateway.ledger import ChargeRequest, Ledger, Refusal, standing

KEYS = st.sampled_from(["o-1", "o-2", "o-3"])
REQUESTS = st.builds(
    ChargeRequest,
    st.sampled_from([0, 1, 3000]),
    st.sampled_from(["JPY", "USD"]),
    st.sampled_from(["tok_visa", "tok_no"]),
)


def said(call: Callable[[], Any]) -> Any:
    """The result of a call, or its error code."""
    try:
        return call()
    except Refusal as refusal:
        return refusal.code


class LedgerModel(RuleBasedStateMachine):
    """The model: the first request of each key, and the keys in flight, finalized and canceled."""

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()
        self.first: dict[str, ChargeRequest] = {}
        self.in_flight: set[str] = set()
        self.finalized: dict[str, str] = {}
        self.canceled: set[str] = set()

    @rule(key=KEYS, request=REQUESTS)
    def charge(self, key: str, request: ChargeRequest) -> None:
        """A charge without interruption."""
        expected = self._expected(key, request)
        outcome = said(lambda: self.ledger.charge(key, request))
        if isinstance(outcome, str):
            assert outcome == expected
            return
        charge, replayed = outcome
        assert expected == ("replay" if replayed else "first")
        self._finalize(key, request)
        assert charge.status == self.finalized[key]

    @rule(key=KEYS, request=REQUESTS)
    def accept(self, key: str, request: ChargeRequest) -> None:
        """The first half of a charge; the second may come late, or never."""
        expected = self._expected(key, request)
        outcome = said(lambda: self.ledger.accept(key, request))
        if isinstance(outcome, str):
            assert outcome == expected
            return
        assert expected == ("replay" if outcome else "first")
        if not outcome:
            self.first[key] = request
            self.in_flight.add(key)

    @precondition(lambda self: self.in_flight)
    @rule(data=st.data())
    def land(self, data: st.DataObject) -> None:
        """The second half of an accepted charge."""
        key = data.draw(st.sampled_from(sorted(self.in_flight)))
        self.in_flight.discard(key)
        outcome = said(lambda: self.ledger.land(key))
        assert (outcome == "key_canceled") == (key in self.canceled)
        if outcome != "key_canceled":
            self._finalize(key, self.first[key])

    @rule(key=KEYS)
    def cancel(self, key: str) -> None:
        captured = self.finalized.get(key) == "succeeded"
        refunded = self.first[key].amount if captured else 0
        self.canceled.add(key)
        assert self.ledger.cancel(key).refunded == refunded

    @rule(key=KEYS)
    def lookup(self, key: str) -> None:
        found = self.ledger.lookup(key)
        assert (found.status if found else None) == self._status(key)

    @invariant()
    def what_stands_is_what_succeeded_and_was_not_canceled(self) -> None:
        expected = {
            key: [self.first[key].amount]
            for key, status in self.finalized.items()
            if status == "succeeded" and key not in self.canceled
        }
        assert standing(self.ledger.snapshot()[1]) == expected

    @invariant()
    def a_key_has_at_most_one_capture_and_one_refund(self) -> None:
        movements = [(movement.key, movement.kind) for movement in self.ledger.snapshot()[1]]
        assert len(movements) == len(set(movements))

    def _expected(self, key: str, request: ChargeRequest) -> str:
        """first, replay, or the error code."""
        if key in self.canceled:
            return "key_canceled"
        if key not in self.first:
            return "first"
        if self.first[key] != request:
            return "key_reused"
        return "replay" if key in self.finalized else "key_in_use"

    def _status(self, key: str) -> str | None:
        if key in self.canceled:
            return "canceled"
        return self.finalized.get(key, "processing" if key in self.first else None)

    def _finalize(self, key: str, request: ChargeRequest) -> None:
        self.first[key] = request
        self.finalized[key] = "succeeded" if request.token == "tok_visa" else "declined"


LedgerModel.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
TestLedgerModel = LedgerModel.TestCase
