"""A model of leases: promises to callers that hold in any history, independent of the table's conditions.

The model knows what no caller knows: which owners are still at work, and which attempts took effect.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from idempotency import Lease, Unknown, Work


@dataclass(eq=False)
class Attempt:
    """An owner's view of itself.

    until: when its lease expires, or when its end was recorded. lease: None if the answer was lost.
    over: it does nothing any more. clean: the record says that it did nothing.
    effect: its outside effect. result: what it will return: its own effect, or one that it found.
    """

    until: datetime
    deadline: datetime
    lease: Lease | None = None
    over: bool = False
    clean: bool = False
    effect: str | None = None
    result: str | None = None


@dataclass
class Generation:
    """The time from the first attempt under a key to its expiry, or to an operator's decision.

    answer: what callers get once it is decided: ("result", ...) or ("error", ...).
    """

    payload: Any = None
    attempts: list[Attempt] = field(default_factory=list)
    answer: tuple[str, Any] | None = None

    @property
    def owner(self) -> Attempt | None:
        """The latest owner, if the work is undecided."""
        return self.attempts[-1] if self.attempts else None

    @property
    def effects(self) -> list[str]:
        """The outside effects, in order of the attempts."""
        return [attempt.effect for attempt in self.attempts if attempt.effect]

    def at_work(self, now: datetime) -> bool:
        """True if an owner may hold an unexpired lease."""
        return any(now < attempt.until for attempt in self.attempts if not attempt.clean)


@dataclass
class Model:
    """Checks every answer under one key. Raises AssertionError, naming the broken promise."""

    work: Work
    now: Generation = field(default_factory=Generation)

    def expired(self, at: datetime) -> None:
        """Record that the record has expired, so the next call finds nothing."""
        assert not any(at < one.until and not one.over for one in self.now.attempts), "a lease expired before its end"
        self.now = Generation()

    def granted(self, attempt: Attempt, payload: Any, at: datetime) -> None:
        """Record that an invocation became the owner."""
        before = self.now
        assert before.answer is None, "decided work was started again"
        assert before.payload in (None, payload) or not self._binds(at), "another payload got the lease"
        for earlier in before.attempts:
            assert earlier.over or earlier.until <= at, "two owners at once"
        possible = bool(before.effects) or any(not earlier.over for earlier in before.attempts)
        if self.work.unknown is Unknown.HOLD:
            assert not possible, "work that may have taken effect was not held"
        if attempt.lease:
            self._unsure_for_a_reason(attempt, possible)
        before.attempts.append(attempt)
        before.payload = payload

    def _unsure_for_a_reason(self, attempt: Attempt, possible: bool) -> None:
        assert attempt.lease is not None
        if self.work.unknown is Unknown.NEVER:
            assert not attempt.lease.unsure, "an owner is unsure although nothing took effect"
            return
        assert attempt.lease.unsure or not possible, (
            "an owner is not unsure although an earlier attempt may have taken effect"
        )
        reason = any(not earlier.clean for earlier in self.now.attempts)
        assert reason or not attempt.lease.unsure, "an owner is unsure for no reason"

    def took_effect(self, attempt: Attempt, effect: str) -> None:
        """Record that an owner, in time or late, took effect outside."""
        attempt.effect = effect
        if self.work.unknown is Unknown.HOLD:
            assert len(self.now.effects) <= 1, "an effect was repeated that should have been held"

    def decided(self, attempt: Attempt, answer: tuple[str, Any]) -> None:
        """Record that an owner's end was stored."""
        assert attempt is self.now.owner, "an owner without the lease decided"
        self.answered(answer)

    def answered(self, answer: tuple[str, Any]) -> None:
        """Check a result or a final error that a call got."""
        assert self.now.answer in (None, answer), f"{self.now.answer} became {answer}"
        self.now.answer = answer

    def replayed(self, answer: tuple[str, Any], payload: Any) -> None:
        """Check the stored answer that a duplicate got."""
        assert payload == self.now.payload, "the answer to another payload"
        assert self.now.answer == answer, f"{answer}, but {self.now.answer} was stored"

    def barred(self, until: datetime, at: datetime) -> None:
        """Check an AlreadyInProgress that a call got."""
        assert at < until, "barred by an expired lease"
        assert self.now.at_work(at), "barred, but nobody is at work"

    def held(self) -> None:
        """Check an OutcomeHeld that a call got."""
        assert self.work.unknown is Unknown.HOLD, "held, but not under HOLD"
        assert self.now.answer is None, "held, but decided"
        assert any(not attempt.clean for attempt in self.now.attempts), "held, but nothing is unknown"

    def mismatch(self, payload: Any, at: datetime) -> None:
        """Check a PayloadMismatch that a call got."""
        assert payload != self.now.payload, "the same payload was rejected as another one"
        assert self._binds(at), "a free key rejected another payload"

    def _binds(self, at: datetime) -> bool:
        """True if the key belongs to one payload: it is decided, or an attempt may have taken effect."""
        open_ones = [attempt for attempt in self.now.attempts if not attempt.clean]
        if self.work.unknown is Unknown.NEVER:
            open_ones = [attempt for attempt in open_ones if at < attempt.until]
        return self.now.answer is not None or bool(open_ones)

    def lost(self, attempt: Attempt) -> None:
        """Check a LeaseLost that an owner got."""
        assert attempt is not self.now.owner or self.now.answer, "an owner lost its lease to nobody"

    def finalized(self, answer: tuple[str, Any] | None, at: datetime) -> None:
        """Record an operator's decision. answer: None if the key was released."""
        assert all(one.over or one.until <= at for one in self.now.attempts), (
            "an operator decided while an owner was at work"
        )
        self.now = Generation(self.now.payload, [], answer)
