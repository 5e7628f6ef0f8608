"""Every fault at every call of a delivery: none is lost, none gets another id, and it has one sender at a time."""

import logging
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Any

import pytest
from botocore.exceptions import ReadTimeoutError

from tests.kit.webhooks import OK, WebhookWorld
from tests.unit import dynamodb
from webhooks import delivering, event, state, table
from webhooks.sending import Answer
from webhooks.state import LEASE, Delivery, Status

BAD = Answer(500, 0.01)
SCRIPTS: dict[str, list[Any]] = {
    "is gone": [Answer(410, 0.01)],
    "accepts": [OK],
    "fails": [BAD, OK],
}
READS = ("query", "batch_get_item")


class Killed(BaseException):
    """A crash of the function."""


@pytest.fixture(autouse=True)
def one_shard(monkeypatch: pytest.MonkeyPatch) -> None:
    """Use one shard: fewer calls, the same protocol."""
    monkeypatch.setattr(state, "SHARDS", 1)
    monkeypatch.setattr(table, "SHARDS", 1)
    logging.getLogger("webhooks").setLevel(logging.CRITICAL)


@dataclass
class Faulty:
    """The client of one invocation, with a fault at one of its calls."""

    world: WebhookWorld
    at: int
    fault: str
    calls: list[str] = field(default_factory=list)

    def __getattr__(self, name: str) -> Any:
        real = getattr(self.world.client, name)
        return real if name == "get_paginator" else lambda **parameters: self.call(name, lambda: real(**parameters))

    def call(self, name: str, work: Callable[[], Any]) -> Any:
        self.calls.append(name)
        return FAULTS[self.fault](self.world, work) if len(self.calls) == self.at else work()


def _die_before(_: WebhookWorld, work: Callable[[], Any]) -> Any:
    raise Killed


def _die_after(_: WebhookWorld, work: Callable[[], Any]) -> Any:
    work()
    raise Killed


def _lose_the_answer(_: WebhookWorld, work: Callable[[], Any]) -> Any:
    work()
    raise ReadTimeoutError(endpoint_url="-")


def _refuse(_: WebhookWorld, work: Callable[[], Any]) -> Any:
    raise ReadTimeoutError(endpoint_url="-")


def _sweep_beside(world: WebhookWorld, work: Callable[[], Any]) -> Any:
    world.sweep()
    return work()


def _resend_beside(world: WebhookWorld, work: Callable[[], Any]) -> Any:
    world.resend()
    return work()


def _deliver_beside(world: WebhookWorld, work: Callable[[], Any]) -> Any:
    world.notify()
    return work()


def _come_late(world: WebhookWorld, work: Callable[[], Any]) -> Any:
    world.now += LEASE + timedelta(seconds=1)
    world.sweep()
    return work()


FAULTS: dict[str, Callable[[WebhookWorld, Callable[[], Any]], Any]] = {
    "dies before": _die_before,
    "dies after": _die_after,
    "loses the answer": _lose_the_answer,
    "refused": _refuse,
    "a sweep beside": _sweep_beside,
    "the message twice": _deliver_beside,
    "an operator sends it again": _resend_beside,
    "late": _come_late,
}


@dataclass(frozen=True)
class Case:
    """A fault at a call, or while the receiver has the message (call 0), of the first invocation of an actor."""

    receiver: str
    actor: str
    call: int
    fault: str

    def play(self, client: Any) -> tuple[list[str], list[str]]:
        """Run a case. Returns the violated invariants, and the calls of the invocation with the fault."""
        world = WebhookWorld(client)
        world.subscribe()
        world.receiver.script = SCRIPTS[self.receiver]
        if self.actor == "sweep":
            world.receiver.during = _dying
            _invoke(world.notify)
            world.receiver.during = lambda: None
            world.now += LEASE
        faulty = Faulty(world, self.call, self.fault)
        world.receiver.during = self._during(world)
        _invoke(lambda: world.notify(faulty) if self.actor == "notify" else world.sweep(faulty))
        world.receiver.during = lambda: None
        world.notify()
        world.drain()
        seen = len(world.receiver.messages)
        world.notify()
        world.drain()
        replayed = ["a replayed notice was sent"] if len(world.receiver.messages) > seen else []
        return [*world.problems(), *replayed], faulty.calls

    def _during(self, world: WebhookWorld) -> Callable[[], None]:
        """Act once, while the receiver has the message."""
        pending = [self.fault] if self.call == 0 else []
        return lambda: FAULTS[pending.pop()](world, lambda: None) if pending else None


def _dying() -> None:
    raise Killed


def _invoke(work: Callable[[], Any]) -> None:
    """Invoke, and ignore errors: the queue or the schedule invokes again."""
    with suppress(Exception, Killed):
        work()


def cases(client: Any, receiver: str) -> Iterator[Case]:
    """Every fault at every call. A read has no effect to lose, and cannot conflict with another's."""
    for actor in ("notify", "sweep"):
        _, clean = Case(receiver, actor, -1, "").play(client)
        for call, name in enumerate(["send", *clean]):
            for fault in FAULTS if name not in READS else ("dies before", "late"):
                yield Case(receiver, actor, call, fault)


def violations(client: Any, *receivers: str) -> Iterator[tuple[Case, list[str]]]:
    """Each case with a violated invariant."""
    for receiver in receivers:
        for case in cases(client, receiver):
            found, _ = case.play(client)
            if found:
                yield case, found


@pytest.mark.slow
@pytest.mark.parametrize("receiver", SCRIPTS)
def test_no_fault_at_any_call_violates_an_invariant(receiver: str) -> None:
    assert list(violations(dynamodb.client(), receiver)) == []


def _unconditional_claim(patch: pytest.MonkeyPatch) -> None:
    def claim(own: table.WebhooksTable, seen: Delivery, owner: str, at: Any) -> Delivery:
        claimed = table.leased(seen, owner, at)
        own.update(seen.row, "attribute_exists(#pk)", {"owner": owner, "next_try_at": claimed.values["next_try_at"]})
        return claimed

    patch.setattr(table.WebhooksTable, "claim", claim)


def _sends_after_its_lease_expired(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delivering, "_TRY", -LEASE * 10)


def _unconditional_record(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(table, "NEW", "attribute_exists(#pk) OR attribute_not_exists(#pk)")


def _any_owner_ends(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(table, "_OWN", "attribute_exists(#pk) OR #owner = :holder")


def _an_id_for_each_try(patch: pytest.MonkeyPatch) -> None:
    numbers = iter(range(10**6))
    real = event.event_of
    patch.setattr(delivering, "event_of", lambda notice: replace(real(notice), id=f"evt_{next(numbers)}"))


def _delivered_whatever_is_answered(patch: pytest.MonkeyPatch) -> None:
    patch.setattr(delivering.Try, "delivered", True)


def _forgotten_when_it_gives_up(patch: pytest.MonkeyPatch) -> None:
    real = table.ended
    patch.setattr(
        table,
        "ended",
        lambda status, *more: {
            **real(Status.CANCELLED if status is Status.FAILED else status, *more),
            "status": status.value,
        },
    )


MUTANTS = {
    name.__name__.lstrip("_"): name
    for name in (
        _unconditional_claim,
        _sends_after_its_lease_expired,
        _unconditional_record,
        _any_owner_ends,
        _an_id_for_each_try,
        _delivered_whatever_is_answered,
        _forgotten_when_it_gives_up,
    )
}


@pytest.mark.slow
@pytest.mark.parametrize("mutant", MUTANTS)
def test_mutant_is_found(mutant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    MUTANTS[mutant](monkeypatch)

    assert next(violations(dynamodb.client(), *SCRIPTS), None) is not None
