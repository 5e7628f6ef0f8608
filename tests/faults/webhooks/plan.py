"""The requests of a schedule: subscriptions, changing receivers, redelivered notices, and operators."""

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from tests.faults.seams import Document
from tests.faults.webhooks.schedule import Schedule
from webhooks.state import WebhookKey
from webhooks.subscribing import webhook_id

MINUTE, HOUR, DAY = 60.0, 3600.0, 86_400.0
WORKS, FLAPS, FAILS, BUSY, HANGS, GONE = "works", "flaps", "fails", "busy", "hangs", "gone"
"""Behavior of a receiver: accepts; accepts about half; refuses; asks for a pause; never responds; is gone."""
CRAWLS, DRAGS = "crawls", "drags"
"""The receiver accepts, or refuses, just before the deadline."""
SLOW = frozenset({CRAWLS, DRAGS, HANGS})
TENANTS = ("tenant1", "tenant2")
_BAD = (FAILS, FAILS, BUSY, HANGS, HANGS, FLAPS, GONE)
_ACTIONS = ("resend", "resend", "remove", "resubscribe", "pause", "rotate", "test")


@dataclass(frozen=True, slots=True)
class Subscriber:
    """A subscriber. phases: its receiver's behavior, by start."""

    number: int
    tenant: str | None
    events: Sequence[str]
    phases: Sequence[tuple[float, str]]

    @property
    def url(self) -> str:
        return f"https://r{self.number}.example.com/hooks"

    @property
    def key(self) -> WebhookKey:
        return WebhookKey(self.tenant, webhook_id(self.tenant, self.url))

    def does(self, moment: float) -> str:
        return [kind for since, kind in self.phases if since <= moment][-1]


@dataclass(frozen=True, slots=True)
class Plan:
    """The plan of a schedule.

    notices: each with the moments at which the queue delivers it. actions: by operators: moment, kind, subscriber.
    sweepless: from when until when no sweep runs. of_one: deliveries that a sweep takes from one receiver.
    reserved: time kept for a sweep's last tries, in ms. limit: maximum subscriptions of a tenant.
    """

    subscribers: Sequence[Subscriber]
    notices: Sequence[tuple[Document, Sequence[float]]]
    actions: Sequence[tuple[float, str, Subscriber]]
    sweepless: tuple[float, float]
    of_one: int
    reserved: int = 20_000
    limit: int = 5

    def of(self, webhook_id: str) -> Subscriber:
        return next(one for one in self.subscribers if one.key.webhook_id == webhook_id)


def plan(schedule: Schedule) -> Plan:
    chance = schedule.chance("plan")
    shape = chance.choice((_few, _few, _few, _few, _backlog, _backlog, _days, _months, _crowd, _rush))
    made = shape(chance)
    if chance.random() < 0.15:
        begin = chance.choice((0.0, 10 * MINUTE))
        made = replace(made, sweepless=(begin, begin + chance.choice((HOUR, 5 * HOUR, 26 * HOUR))))
    return made


def _few(chance: random.Random) -> Plan:
    """Plan a few notices, and receivers that may fail for minutes or hours."""
    subscribers = [_subscriber(chance, number) for number in range(chance.choice((1, 2, 2, 3)))]
    moments = [chance.choice((0.0, 1.0, 30.0, 5 * MINUTE, HOUR)) for _ in range(chance.choice((1, 1, 2, 3)))]
    return _plan(chance, subscribers, [(notice(chance, n), _again(chance, at)) for n, at in enumerate(moments)])


def _backlog(chance: random.Random) -> Plan:
    """Plan many notices for one receiver, and a few for another one that begins to work."""
    bad, until = chance.choice((HANGS, HANGS, FAILS)), chance.choice((30 * MINUTE, HOUR))
    first = Subscriber(0, TENANTS[0], ["command"], [(0.0, bad), (until, chance.choice((WORKS, WORKS, GONE)))])
    other = Subscriber(1, chance.choice((None, TENANTS[1])), ["command"], [(0.0, FAILS), (3 * MINUTE, WORKS)])
    notices = [(notice(chance, 0), [0.0])]
    notices += [(notice(chance, number, TENANTS[0]), [40.0]) for number in range(1, chance.choice((8, 12)))]
    made = _plan(chance, [first, other], [*notices, (notice(chance, 99, TENANTS[1]), [10.0, 45.0])])
    stop = chance.choice(([], [(2 * MINUTE, "pause", first)], [(2 * MINUTE, "remove", first)]))
    return replace(made, actions=[*made.actions, *stop])


def _crowd(chance: random.Random) -> Plan:
    """Plan more lanes of slow receivers of every kind than there are senders, and one receiver that works."""
    until = chance.choice((20 * MINUTE, HOUR))
    crowd = [
        Subscriber(
            number,
            TENANTS[number % 2],
            ["command"],
            [(0.0, FAILS), (75.0, chance.choice((CRAWLS, DRAGS, DRAGS, HANGS))), (until, WORKS)],
        )
        for number in range(4)
    ]
    other = Subscriber(4, "tenant3", ["command"], [(0.0, FAILS), (75.0, WORKS)])
    notices = [(notice(chance, number, tenant), [0.0]) for number, tenant in enumerate((*TENANTS, "tenant3"))]
    notices += [(notice(chance, 3 + number, TENANTS[number % 2]), [40.0]) for number in range(12)]
    notices += [(notice(chance, 99, "tenant3"), [45.0])]
    return Plan([*crowd, other], notices, [], (0.0, 0.0), 500, reserved=260_000)


def _rush(chance: random.Random) -> Plan:
    """Plan more addresses of one tenant than allowed, subscribed at once, and rotated by two operators at once."""
    tenant = chance.choice((None, TENANTS[0]))
    subscribers = [Subscriber(number, tenant, ["command"], [(0.0, WORKS)]) for number in range(3)]
    subscribers += subscribers[:1]
    made = _plan(chance, subscribers, [(notice(chance, 0), [0.0])])
    rotated = [(10.0, "rotate", subscribers[0]), (10.0, chance.choice(("rotate", "remove")), subscribers[0])]
    return replace(made, actions=[*made.actions, *rotated], limit=2)


def _days(chance: random.Random) -> Plan:
    """Plan a receiver that fails for days, perhaps with a success in between."""
    end, between = chance.choice((2.5, 3.1, 3.6, 5.0)) * DAY, chance.choice((1.0, 2.5, 3.0)) * DAY
    good = chance.choice(((), ((between, WORKS), (between + 4 * HOUR, FAILS))))
    subscriber = Subscriber(0, TENANTS[0], ["command"], [(0.0, chance.choice((FAILS, HANGS))), *good, (end, WORKS)])
    phases = sorted(subscriber.phases)
    if chance.random() < 0.4:
        phases = [(since, FLAPS if since == end else kind) for since, kind in phases]
    moments = [0.0, chance.choice((between, 2 * DAY)), *(3.05 * DAY + 20 * n for n in range(chance.choice((1, 2, 3))))]
    notices = [(notice(chance, number, TENANTS[0]), [at]) for number, at in enumerate(moments)]
    return _plan(chance, [replace(subscriber, phases=phases)], notices)


def _months(chance: random.Random) -> Plan:
    """Plan a notice that is redelivered after its delivery's row has expired, and a resend before or after that."""
    subscribers = [_subscriber(chance, number) for number in range(chance.choice((1, 2)))]
    moments = [0.0, 90 * DAY + 5 * HOUR, 95 * DAY]
    notices = [(notice(chance, number), moments) for number in range(chance.choice((1, 2)))]
    made = _plan(chance, subscribers, notices)
    later = [(moment + chance.choice((0.0, 80 * DAY, 92 * DAY)), kind, one) for moment, kind, one in made.actions]
    return replace(made, actions=later)


def _plan(
    chance: random.Random, subscribers: Sequence[Subscriber], notices: Sequence[tuple[Document, Sequence[float]]]
) -> Plan:
    actions = []
    if chance.random() < 0.6:
        for _ in range(chance.choice((1, 2, 3))):
            moment = chance.choice((10.0, 2 * MINUTE, 45 * MINUTE, 3 * HOUR))
            actions.append((moment, chance.choice(_ACTIONS), chance.choice(subscribers)))
    return Plan(subscribers, notices, actions, (0.0, 0.0), chance.choice((4, 500)))


def _subscriber(chance: random.Random, number: int) -> Subscriber:
    tenant = chance.choice((None, TENANTS[0], TENANTS[0], TENANTS[1]))
    events = chance.choice((["command"], ["command", "task"], ["task"] if tenant else ["command", "order"]))
    end = chance.choice((5 * MINUTE, HOUR, 9 * HOUR, 9 * HOUR, 30 * HOUR))
    bad = [(0.0, chance.choice(_BAD)), (end, WORKS)] if chance.random() < 0.45 else [(0.0, WORKS)]
    return Subscriber(number, tenant, events, bad)


def _again(chance: random.Random, at: float) -> list[float]:
    """Return when the queue delivers it: perhaps twice."""
    more = chance.choice((0.0, 0.5, 70.0, 10 * MINUTE, 2 * HOUR))
    return [at, at + more] if chance.random() < 0.3 else [at]


def notice(chance: random.Random, number: int, tenant: str = "") -> Document:
    kind = "command" if tenant else chance.choice(("command", "command", "command", "task", "order"))
    return {
        "type": kind,
        "tenant_code": None if kind == "order" else tenant or TENANTS[chance.random() < 0.2],
        "id": f"n-{number}",
        "attempt": 1,
        "status": "FINISHED",
        "occurred_at": "2026-11-22T08:59:58+00:00",
        "data": {"number": number},
    }
