"""Random histories of one key: owners, clocks, crashes, lost and late answers, decisions of operators."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from botocore.awsrequest import AWSPreparedRequest
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from idempotency import (
    AlreadyInProgress,
    LeaseLost,
    LeaseRecord,
    OutcomeHeld,
    PayloadMismatch,
    StateConflict,
    StoreUnavailable,
    Unknown,
    Work,
)
from tests.store.charging import (
    LIFETIME,
    MARGIN,
    ORDER,
    OTHER_ORDER,
    POLICIES,
    RESPELLED_ORDER,
    AnswerLost,
    Charge,
    Declined,
    Unreachable,
)
from tests.store.database import Database, Row
from tests.store.model import Attempt, Model
from tests.store.wire import Wire

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Fault = Literal["none", "lost", "twice", "late"]

_FAULTS = st.sampled_from(["none", "none", "none", "none", "lost", "twice", "late"])
_PICK = st.integers(0, 3)
_MAX_DELAY = timedelta(minutes=2)
"""The maximum delay of a request."""


@dataclass(frozen=True)
class OnItsWay:
    """A delayed request that nothing waits for any more.

    landed: called if it changes the record, with whether the record had expired when the request was sent.
    """

    request: AWSPreparedRequest
    sent_at: datetime
    landed: Callable[[bool], None]


class LeaseHistories(RuleBasedStateMachine):
    """Each rule is one action of an owner or operator; the model checks every answer."""

    database: ClassVar[Database]
    wire: ClassVar[Wire]
    client: ClassVar["DynamoDBClient"]
    """Sends requests over the wire."""

    @initialize(
        work=st.sampled_from(POLICIES),
        duration=st.sampled_from([None, timedelta(seconds=20)]),
        at_once=st.booleans(),
    )
    def first(self, work: Work, duration: timedelta | None, at_once: bool) -> None:
        self.work = replace(work, duration=duration)
        self.charge = Charge(self.database, self.client, self.work)
        self.clock = self.charge.clock
        self.model = Model(self.work)
        self.live: list[Attempt] = []
        self.on_their_way: list[OnItsWay] = []
        self.read: tuple[LeaseRecord, Row] | None = None
        self.row: Row = None
        self.number = 0
        self.landed = 0
        self.taken = False
        self.begins("none", 1, 0, at_once, ORDER)

    # --- an invocation ---

    @rule(
        fault=_FAULTS,
        call=st.sampled_from([1, 2]),
        after=st.sampled_from([0, 1, 62, 62]),
        at_once=st.booleans(),
        order=st.sampled_from([ORDER, RESPELLED_ORDER]),
    )
    def begins(self, fault: Fault, call: int, after: int, at_once: bool, order: Any) -> None:
        """Start an invocation. call: the one with the fault. at_once: take effect right after acquiring the lease."""
        self.clock.go(timedelta(seconds=after))
        live = len(self.live)
        self._begins(fault, order, call)
        if at_once and len(self.live) > live:
            self.takes_effect(live)

    @rule()
    def begins_with_another_order(self) -> None:
        self._begins("none", OTHER_ORDER)

    def _begins(self, fault: Fault, payload: Any, call: int = 1) -> None:
        attempt = Attempt(self._end(self.charge.deadline), self.charge.deadline)
        before = self.row

        def landed(of_an_expired_one: bool) -> None:
            if (self.row or {})["status"] == "HELD":
                self.model.held()
                return
            self._takes_the_place(of_an_expired_one)
            self._granted(attempt, payload)

        try:
            lease = self._over(fault, lambda: self.charge.lease(payload), call)
        except AlreadyInProgress as error:
            self.model.barred(error.until, self.clock.now)
        except PayloadMismatch:
            self.model.mismatch(payload, self.clock.now)
        except OutcomeHeld:
            self.model.held()
            return
        except (Declined, StateConflict) as error:
            self.model.replayed(("error", str(error)), payload)
        except StoreUnavailable:
            attempt.over = True
            self._if_it_lands(before, landed)
            return
        else:
            if not lease.completed:
                attempt.lease = lease
                self.live.append(attempt)
                landed(_expired(before, self.clock.now))
                return
            self.model.replayed(("result", lease.result), payload)
        assert self.row == before

    @precondition(lambda self: self.live)
    @rule(pick=_PICK)
    def takes_effect(self, pick: int) -> None:
        attempt = self._picked(pick)
        known = self.model.now.effects if attempt in self.model.now.attempts else []
        if attempt.result:
            return
        if self.work.unknown is Unknown.NEVER:
            attempt.result = self._new("result")
            return
        if self.work.unknown is Unknown.RESOLVE and known:
            attempt.result = known[0]
            return
        attempt.result = self._new("effect")
        self.model.took_effect(attempt, attempt.result)

    @precondition(lambda self: any(attempt.result for attempt in self.live))
    @rule(pick=_PICK, fault=_FAULTS, dies=st.booleans(), writes=st.booleans())
    def completes(self, pick: int, fault: Fault, dies: bool, writes: bool) -> None:
        """Complete the work. writes: with business writes, whose condition fails while there is a booking."""
        done = [attempt for attempt in self.live if attempt.result]
        attempt = done[pick % len(done)]
        before, result, lease = self.row, {"effect": attempt.result}, attempt.lease
        assert lease
        self._leaves(attempt)

        def completed(_: bool = False) -> None:
            self._decided(attempt, ("result", result))
            if writes:
                assert not self.taken, "a write landed although its condition failed"
                self.landed, self.taken = self.landed + 1, True

        try:
            self._over(fault, lambda: lease.complete(result, self.charge.writes if writes else ()))
        except StateConflict as error:
            refused = [refusal.index for refusal in error.refusals]
            assert (self.taken, refused) == (True, [0]), "a write was refused although its condition held"
            assert self.row == before
            assert attempt is self.model.now.owner, "a former owner got another answer than LeaseLost"
            if not dies:
                self._ends(attempt, error, "none")
        except LeaseLost:
            self.model.lost(attempt)
            self._over("none", lambda: lease.__exit__(LeaseLost, LeaseLost(), None))
            assert self.row == before
        except StoreUnavailable as error:
            self._if_it_lands(before, completed)
            if not dies:
                self._ends(attempt, error, "none")
        else:
            completed()

    @precondition(lambda self: self.live)
    @rule(pick=_PICK, kind=st.sampled_from([Declined, Unreachable, AnswerLost]), fault=_FAULTS)
    def fails(self, pick: int, kind: type[Exception], fault: Fault) -> None:
        attempt = self._picked(pick)
        self._leaves(attempt)
        error = AnswerLost() if attempt.result else kind(self._new("reason"))
        self._ends(attempt, error, fault)

    @precondition(lambda self: self.live)
    @rule(pick=_PICK, fault=_FAULTS)
    def extends(self, pick: int, fault: Fault) -> None:
        attempt = self._picked(pick)
        before, until, lease = self.row, self._end(attempt.deadline), attempt.lease
        assert lease

        def extended(_: bool = False) -> None:
            assert attempt is self.model.now.owner
            attempt.until = max(until, attempt.until)

        try:
            self._over(fault, lease.extend)
        except LeaseLost:
            self.model.lost(attempt)
            self._leaves(attempt)
            assert self.row == before
        except StoreUnavailable:
            self._if_it_lands(before, extended)
        else:
            extended()

    @precondition(lambda self: self.live)
    @rule(pick=_PICK)
    def dies(self, pick: int) -> None:
        self._leaves(self._picked(pick))

    # --- time, the network, DynamoDB ---

    @rule(by=st.sampled_from([1, 15, 30, 62, LIFETIME.total_seconds()]))
    def passes(self, by: float) -> None:
        self.clock.go(timedelta(seconds=by))
        young = self.clock.now - _MAX_DELAY
        self.on_their_way = [late for late in self.on_their_way if late.sent_at >= young]

    @precondition(lambda self: self.on_their_way)
    @rule(pick=_PICK)
    def lands(self, pick: int) -> None:
        late = self.on_their_way.pop(pick % len(self.on_their_way))
        before = self.row
        self.database.engine.send(late.request)
        self.row = self.charge.row
        if self.row != before:
            late.landed(_expired(before, late.sent_at))

    @rule()
    def the_booking_comes_or_goes(self) -> None:
        self.charge.cancel_booking() if self.taken else self.charge.book()
        self.taken = not self.taken

    @precondition(lambda self: self._expired())
    @rule()
    def is_deleted(self) -> None:
        self.charge.delete()
        self.row = None
        self.model.expired(self.clock.now)

    # --- a person ---

    @precondition(lambda self: self.row)
    @rule()
    def looks(self) -> None:
        self.read = (self.charge.record, self.row)

    @precondition(lambda self: self.read)
    @rule(answer=st.sampled_from(["release", "complete", "fail"]), fault=st.sampled_from(["none", "lost", "twice"]))
    def decides(self, answer: str, fault: Fault) -> None:
        assert self.read
        # No two operators decide in the same microsecond.
        self.clock.go(timedelta(microseconds=1))
        (record, seen), before, reason = self.read, self.row, self._new("decision")
        calls: dict[str, tuple[Any, Callable[[], None]]] = {
            "release": (None, lambda: self.charge.operators.release(record, by="kim", reason=reason)),
            "complete": (
                ("result", reason),
                lambda: self.charge.operators.complete(record, reason, by="kim", reason=reason),
            ),
            "fail": (
                ("error", reason),
                lambda: self.charge.operators.fail(record, "Declined", reason, by="kim", reason=reason),
            ),
        }
        told, call = calls[answer]
        try:
            self._over(fault, call)
        except AlreadyInProgress:
            assert record.in_progress(self.clock.now)
        except StateConflict:
            assert before != seen, "a decision was refused although nothing had changed"
        except StoreUnavailable:
            self._if_it_lands(before, lambda _: self.model.finalized(told, self.clock.now))
            return
        else:
            assert before == seen, "a decision was accepted although the record had changed"
            self.model.finalized(told, self.clock.now)
            return
        assert self.row == before

    # --- at every moment ---

    @invariant()
    def what_stands_there_is_whole(self) -> None:
        row = self.row or {"status": "COMPLETED", "result": ""}
        unlisted = ("COMPLETED", "RELEASED", *["IN_PROGRESS"] * (self.work.unknown is Unknown.NEVER))
        assert ("listed" in row) == (row["status"] not in unlisted)
        assert ("result" in row) == (row["status"] == "COMPLETED")
        assert ("error" in row) == (row["status"] == "FAILED")
        if row["status"] in ("HELD", "IN_PROGRESS") and self.work.unknown is Unknown.HOLD:
            assert "expires_at" not in row

    @invariant()
    def business_writes_land_with_the_completion_that_they_belong_to(self) -> None:
        assert self.charge.landed == self.landed

    # --- how it is done ---

    def _over(self, fault: Fault, call: Callable[[], Any], number: int = 1) -> Any:
        """Call with a fault on one request, then read the record and check its expiry."""
        before = self.row
        self.wire.delayed.clear()
        self._inject(fault, number)
        try:
            return call()
        finally:
            self._inject("none")
            self.row = self.charge.row
            if self.row and self.row != before and "expires_at" in self.row:
                assert self.row["expires_at"] >= int((self.clock.now + LIFETIME).timestamp())

    def _inject(self, fault: Fault, number: int = 1) -> None:
        """Restart the wire's count, with a fault on one request."""
        self.wire.sent = 0
        self.wire.lose, self.wire.twice, self.wire.delay = (
            number * (fault == one) for one in ("lost", "twice", "late")
        )

    def _if_it_lands(self, before: Row, landed: Callable[[bool], None]) -> None:
        """Record a lost answer: the request has changed the record, or may still do so."""
        if self.wire.delayed:
            self.on_their_way.append(OnItsWay(self.wire.delayed.pop(), self.clock.now, landed))
        elif self.row != before:
            landed(_expired(before, self.clock.now))

    def _takes_the_place(self, of_an_expired_one: bool) -> None:
        """Make every later request for the lease see this one."""
        if of_an_expired_one:
            self.model.expired(self.clock.now)

    def _granted(self, attempt: Attempt, payload: Any) -> None:
        self.model.granted(attempt, payload, self.clock.now)

    def _decided(self, attempt: Attempt, answer: tuple[str, Any]) -> None:
        attempt.until = min(attempt.until, self.clock.now)
        self.model.decided(attempt, answer)

    def _ends(self, attempt: Attempt, error: Exception, fault: Fault) -> None:
        """Let an owner leave its block with an error."""
        before, lease = self.row, attempt.lease
        assert lease
        is_owner = attempt is self.model.now.owner and not self.model.now.answer

        def ended(_: bool) -> None:
            assert attempt is self.model.now.owner, "a late request of a former owner changed the record"
            attempt.until = min(attempt.until, self.clock.now)
            attempt.clean = (self.row or {})["status"] == "RELEASED"
            if (self.row or {})["status"] == "FAILED":
                assert isinstance(error, Declined) or self.work.unknown is Unknown.NEVER
                self.model.decided(attempt, ("error", str(error)))

        self._over(fault, lambda: lease.__exit__(type(error), error, None))
        held_before = (before or {}).get("status") == "HELD"
        assert is_owner or self.row == before, "an owner without the lease changed the record"
        assert self.row != before or not is_owner or held_before or fault == "late", "an end was not recorded"
        self._if_it_lands(before, ended)

    def _leaves(self, attempt: Attempt) -> None:
        attempt.over = True
        self.live.remove(attempt)

    def _picked(self, pick: int) -> Attempt:
        return self.live[pick % len(self.live)]

    def _expired(self) -> bool:
        return _expired(self.row, self.clock.now)

    def _end(self, deadline: datetime) -> datetime:
        duration = self.work.duration
        return (min(deadline, self.clock.now + duration) if duration else deadline) + MARGIN

    def _new(self, what: str) -> str:
        self.number += 1
        return f"{what} {self.number}"


def _expired(row: Row, at: datetime) -> bool:
    return bool(row and row.get("expires_at", float("inf")) <= at.timestamp())
