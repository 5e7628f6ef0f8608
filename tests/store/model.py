"""What may be seen of leases, whatever happens: promises to callers, none of which names a condition of the table.

The model knows what no caller knows: who is still at work, and which attempts had their effect.
"""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from idempotency import Lease, Unknown, Work


@dataclass(eq=False)
class Attempt:
    """One owner, as he sees himself.

    until: when his lease ends, as he was told, or when his end was recorded. lease: None if he never heard of it.
    over: he does nothing any more. clean: the record says that he did nothing.
    effect: what he did outside. result: what he will say, be it his own effect or one that he found.
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
    """The time from the first attempt under a key to its expiry, or to a person's decision.

    answer: what callers are told once it is decided: ("result", ...) or ("error", ...).
    """

    payload: Any = None
    attempts: list[Attempt] = field(default_factory=list)
    answer: tuple[str, Any] | None = None

    @property
    def owner(self) -> Attempt | None:
        """The latest owner, if nobody has decided."""
        return self.attempts[-1] if self.attempts else None

    @property
    def effects(self) -> list[str]:
        """What was done outside, in order of the attempts."""
        return [attempt.effect for attempt in self.attempts if attempt.effect]

    def at_work(self, now: datetime) -> bool:
        """Whether somebody holds a lease that has not run out, as far as anybody can know."""
        return any(now < attempt.until for attempt in self.attempts if not attempt.clean)


@dataclass
class Model:
    """Checks, for one key, everything that callers are told; AssertionError says which promise is broken."""

    work: Work
    now: Generation = field(default_factory=Generation)

    def expired(self, at: datetime) -> None:
        """The record does not count any more, so the next call finds nothing."""
        assert not any(at < one.until and not one.over for one in self.now.attempts), "a lease expired before its end"
        self.now = Generation()

    def granted(self, attempt: Attempt, payload: Any, at: datetime) -> None:
        """Somebody became the owner."""
        before = self.now
        assert before.answer is None, "work that is decided was given out again"
        assert before.payload in (None, payload), "the key was taken for another payload"
        for earlier in before.attempts:
            assert earlier.over or earlier.until <= at, "two owners at once"
        possible = bool(before.effects) or any(not earlier.over for earlier in before.attempts)
        if self.work.unknown is Unknown.HOLD:
            assert not possible, "what may have taken effect was not held"
        if attempt.lease:
            self._unsure_for_a_reason(attempt, possible)
        before.attempts.append(attempt)
        before.payload = payload

    def _unsure_for_a_reason(self, attempt: Attempt, possible: bool) -> None:
        assert attempt.lease is not None
        if self.work.unknown is Unknown.NEVER:
            assert not attempt.lease.unsure, "an owner was told to be unsure of what had no effect"
            return
        assert attempt.lease.unsure or not possible, "nobody was told that an earlier attempt may have taken effect"
        reason = any(not earlier.clean for earlier in self.now.attempts)
        assert reason or not attempt.lease.unsure, "an owner was told to be unsure for no reason"

    def took_effect(self, attempt: Attempt, effect: str) -> None:
        """An owner, in time or late, did his work outside."""
        attempt.effect = effect
        if self.work.unknown is Unknown.HOLD:
            assert len(self.now.effects) <= 1, "an effect was repeated that should have been held"

    def decided(self, attempt: Attempt, answer: tuple[str, Any]) -> None:
        """An owner's end was stored."""
        assert attempt is self.now.owner, "an owner without the lease decided"
        self.answered(answer)

    def answered(self, answer: tuple[str, Any]) -> None:
        """Somebody was told a result or a final error."""
        assert self.now.answer in (None, answer), f"{self.now.answer} became {answer}"
        self.now.answer = answer

    def replayed(self, answer: tuple[str, Any], payload: Any) -> None:
        """A duplicate was told what is stored."""
        assert payload == self.now.payload, "the answer to another request"
        assert self.now.answer == answer, f"{answer}, but {self.now.answer} was stored"

    def barred(self, until: datetime, at: datetime) -> None:
        """Somebody was told that another one is at work."""
        assert at < until, "barred by a lease that has run out"
        assert self.now.at_work(at), "barred, and nobody is at work"

    def held(self) -> None:
        """Somebody was told that a person has to find out."""
        assert self.work.unknown is Unknown.HOLD, "held, though it is not to be"
        assert self.now.answer is None, "held, though it is decided"
        assert any(not attempt.clean for attempt in self.now.attempts), "held, and nothing is unknown"

    def mismatch(self, payload: Any) -> None:
        """Somebody was told that the key belongs to another request."""
        assert payload != self.now.payload, "the same request was refused as another one"

    def lost(self, attempt: Attempt) -> None:
        """An owner was told that he is none any more."""
        assert attempt is not self.now.owner or self.now.answer, "an owner lost his lease to nobody"

    def finalized(self, answer: tuple[str, Any] | None, at: datetime) -> None:
        """A person decided. answer: None if the key was released."""
        assert all(one.over or one.until <= at for one in self.now.attempts), "a person decided over somebody at work"
        self.now = Generation(self.now.payload, [], answer)
