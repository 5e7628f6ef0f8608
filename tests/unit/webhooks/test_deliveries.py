"""Deliveries of webhooks: attempts, backoff, and their end."""

import itertools
import threading
import time
from collections import Counter, deque
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from types import SimpleNamespace
from typing import Any
from unittest import mock

import pytest

from idempotency.codec import to_value
from runtime.queues import InvalidMessage
from tests.kit.webhooks import LIFETIME, LOST, NOTICE, OK, START, TENANT, WebhookWorld, notice_of
from tests.unit import dynamodb
from webhooks import sweep
from webhooks.delivering import DISABLE_AFTER, SLOW_SECONDS, pause_after
from webhooks.endpoints import Endpoints
from webhooks.errors import NotSent
from webhooks.event import event_of
from webhooks.sending import Answer
from webhooks.state import LEASE, WINDOW, Status

BAD = Answer(500, 0.01)
OTHER = NOTICE.replace("tenant1", "tenant2")


@pytest.fixture
def world() -> WebhookWorld:
    return WebhookWorld(dynamodb.client())


def test_status_change_is_sent_once_to_each_subscription_to_it(world: WebhookWorld) -> None:
    own, operators = world.subscribe(), world.subscribe(tenant_code=None)
    world.subscribe(["task"])
    world.subscribe(tenant_code="tenant2")

    assert (world.notify(), world.notify()) == (2, 0)
    assert sorted(url for url, *_ in world.receiver.messages) == sorted(
        world.endpoints.read(key.webhook_id).url for key in (own, operators)
    )
    assert {row["status"] for row in world.rows()} == {Status.DELIVERED}


@pytest.mark.parametrize("number", ["1.5", "12345678901234567890.5", "1E+20"])
def test_number_of_a_notice_is_sent_with_its_digits(number: str) -> None:
    notice = notice_of(NOTICE.replace('"data": {', f'"data": {{"rate": {number}, '))

    assert f'"rate": {number},' in event_of(notice).body


def test_expired_but_undeleted_row_stops_no_event(world: WebhookWorld) -> None:
    world.subscribe()
    world.notify()
    world.now += LIFETIME

    assert (world.notify(), world.notify()) == (1, 0)
    assert len(world.receiver.messages) == 2


def test_stack_event_goes_only_to_its_operator(world: WebhookWorld) -> None:
    operators = world.subscribe(["order"], tenant_code=None)
    world.subscribe(["order"])
    text = NOTICE.replace('"tenant1"', "null").replace('"command"', '"order"')

    assert world.notify(notice=notice_of(text)) == 1
    assert world.receiver.messages[0][0].endswith(operators.webhook_id)


def test_longest_command_key_fits_an_event() -> None:
    notice = notice_of(NOTICE.replace("tea-01", "t" * 1000))

    assert event_of(notice).id.startswith("evt_")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("tenant1", "tenant2"),
        ('"command"', '"task"'),
        ("tea-01", "tea-02"),
        ("FINISHED", "FAILED"),
        ('"attempt": 1', '"attempt": 2'),
    ],
)
def test_other_status_change_is_another_event(old: str, new: str) -> None:
    first, other = (event_of(notice_of(text)) for text in (NOTICE, NOTICE.replace(old, new)))

    assert first.id != other.id
    assert event_of(notice_of(NOTICE.replace("08:59:58", "09:30:00"))).id == first.id


@pytest.mark.parametrize("text", ["[]", "{}", NOTICE.replace("tenant1", "a b"), NOTICE.replace("+00:00", "")])
def test_non_notice_record_is_rejected(text: str) -> None:
    with pytest.raises(InvalidMessage):
        notice_of(text)


def test_retries_last_a_day_under_one_id_and_the_delivery_is_listed(world: WebhookWorld) -> None:
    world.subscribe()
    world.receiver.script = [BAD]
    world.notify()
    world.drain()

    (row,) = world.rows()
    assert (row["status"], row["last_outcome"]) == (Status.FAILED, "status 500")
    assert WINDOW - timedelta(hours=3) <= world.now - START <= WINDOW
    assert 14 <= row["attempts"] == len(world.receiver.messages) <= 25
    assert list(world.problems()) == []


def test_backoff_doubles_with_jitter_up_to_three_hours() -> None:
    seconds = [pause_after(number, lambda: 0).total_seconds() for number in (1, 2, 3, 9, 10, 100)]

    assert seconds == [30, 60, 120, 7680, 10_800, 10_800]
    assert pause_after(1, lambda: 1) == timedelta(seconds=15)


def test_receiver_may_ask_for_a_longer_pause(world: WebhookWorld) -> None:
    world.subscribe()
    world.receiver.script = [Answer(429, 0.01, retry_after=7200), OK]
    world.notify()

    (row,) = world.rows()
    assert row["next_try_at"] == (START + timedelta(hours=2)).isoformat()


def test_gone_receiver_is_disabled_and_its_events_are_kept(world: WebhookWorld) -> None:
    world.subscribe()
    world.receiver.script = [Answer(410, 0.01)]
    world.notify()
    world.notify(notice=notice_of(NOTICE.replace("tea-01", "tea-02")))

    (webhook,) = world.rows("webhook")
    assert webhook["status"] == "DISABLED"
    assert {row["last_outcome"] for row in world.rows()} == {"status 410", "the subscription is disabled"}
    assert len(world.receiver.messages) == 1
    assert {row["status"] for row in world.rows()} == {Status.FAILED}


def test_address_failing_for_days_is_disabled(world: WebhookWorld) -> None:
    world.subscribe(failing_since=(START - DISABLE_AFTER).isoformat())
    world.receiver.script = [LOST]
    world.notify()
    world.drain()

    assert [row["status"] for row in world.rows("webhook")] == ["DISABLED"]


def test_success_beside_a_failing_attempt_also_resets_the_count(world: WebhookWorld) -> None:
    world.subscribe(failing_since=(START - DISABLE_AFTER).isoformat())
    world.receiver.script = [BAD, OK]
    world.notify()

    def another_succeeds() -> None:
        world.receiver.during = lambda: None
        world.notify(notice=notice_of(NOTICE.replace("tea-01", "tea-02")))
        world.sweep()

    world.receiver.during = another_succeeds
    world.sweep()

    (webhook,) = world.rows("webhook")
    assert (webhook["status"], webhook["failing_since"]) == ("ACTIVE", START.isoformat())


def test_success_resets_the_count_even_if_the_sender_crashes_after_it(world: WebhookWorld) -> None:
    world.subscribe(failing_since=(START - DISABLE_AFTER).isoformat())
    world.notify()
    world.now += timedelta(minutes=1)
    deliveries = world.deliveries()
    (seen,) = deliveries.table.due(world.now)
    claimed = deliveries.table.claim(seen, "me", world.now)
    assert claimed is not None
    with mock.patch.object(type(deliveries.table), "end", side_effect=KeyboardInterrupt), suppress(KeyboardInterrupt):
        deliveries.attempt(claimed)

    assert len(world.receiver.messages) == 1
    assert "failing_since" not in world.rows("webhook")[0]


def test_nothing_is_sent_if_the_lease_expires_while_the_secret_is_read(world: WebhookWorld) -> None:
    world.subscribe()
    read = world.endpoints.ssm().get_parameter

    def slowly(**asked: Any) -> Any:
        world.now += LEASE
        return read(**asked)

    world.endpoints = Endpoints(lambda: SimpleNamespace(get_parameter=slowly), "/stepwise/webhooks")
    world.notify()

    assert world.receiver.messages == []
    assert [row["status"] for row in world.rows()] == [Status.WAITING]


def test_success_resets_the_count_of_failing_days(world: WebhookWorld) -> None:
    world.subscribe()
    world.receiver.script = [BAD, OK]
    world.notify()
    assert [row["failing_since"] for row in world.rows("webhook")] == [START.isoformat()]
    world.drain()

    (webhook,) = world.rows("webhook")
    assert "failing_since" not in webhook
    assert webhook["last_outcome"] == "status 200"


def test_failing_receiver_does_not_hold_up_the_queue(world: WebhookWorld) -> None:
    world.subscribe(failing_since=START.isoformat())
    world.notify()
    assert world.receiver.messages == []
    world.drain()

    assert len(world.receiver.messages) == 1


def test_hanging_receiver_does_not_hold_up_a_sweep(world: WebhookWorld) -> None:
    world.subscribe(failing_since=START.isoformat())
    world.receiver.script = [NotSent("no answer in time")]
    for number in range(20):
        world.notify(notice=notice_of(NOTICE.replace("tea-01", f"tea-{number}x")))
    counts = world.sweep()

    assert (counts["not_delivered"], counts["left"]) == (12, 8)


@pytest.mark.parametrize(("status", "later"), [("DISABLED", timedelta()), ("ACTIVE", WINDOW)])
def test_abandoned_deliveries_hold_up_nothing(world: WebhookWorld, status: str, later: timedelta) -> None:
    key = world.subscribe(failing_since=START.isoformat())
    for number in range(20):
        world.notify(notice=notice_of(NOTICE.replace("tea-01", f"tea-{number}x")))
    world.deliveries().table.change(key, {"status": status})
    world.now += later
    counts = world.sweep()

    assert (counts["not_delivered"], counts["left"]) == (20, 0)
    assert (world.receiver.messages, {row["status"] for row in world.rows()}) == ([], {Status.FAILED})


def test_backlog_of_a_hanging_receiver_does_not_hide_due_deliveries(
    world: WebhookWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "_OF_ONE", 3)
    world.receiver.script = [LOST]
    world.subscribe(failing_since=START.isoformat())
    for number in range(20):
        world.notify(notice=notice_of(NOTICE.replace("tea-01", f"tea-{number}x")))
    other = world.subscribe(tenant_code="tenant2", failing_since=START.isoformat())
    world.notify(notice=notice_of(OTHER))
    world.sweep()

    assert [url for url, *_ in world.receiver.messages if url.endswith(other.webhook_id)]
    assert len(world.receiver.messages) == 4


@pytest.mark.parametrize("outcome", [Answer(500, 9.5), Answer(200, 9.5), LOST], ids=["refused", "accepted", "hung"])
@pytest.mark.parametrize("first", ["slow", "healthy"])
def test_slow_receivers_of_one_tenant_leave_senders_to_another(
    world: WebhookWorld, monkeypatch: pytest.MonkeyPatch, outcome: Any, first: str
) -> None:
    """Two tenants have five slow receivers each: forty lanes, and more work than a sweep has time for."""
    slow = [world.subscribe(tenant_code=f"tenant{number % 2}", failing_since=START.isoformat()) for number in range(10)]
    notices = [
        notice_of(NOTICE.replace("tenant1", f"tenant{number % 2}").replace("tea-01", f"tea-{number}x"))
        for number in range(12)
    ]
    healthy = notice_of(OTHER.replace("tenant2", "tenant9"))
    key = world.subscribe(tenant_code="tenant9", failing_since=START.isoformat())
    for one in [healthy, *notices] if first == "healthy" else [*notices, healthy]:
        world.notify(notice=one)
    crowd = _Crowd(world, {one.webhook_id for one in slow}, outcome)
    monkeypatch.setattr(world, "receiver", crowd)
    world.sweep()

    assert crowd.began.index(key.webhook_id) < sweep._SENDERS
    assert crowd.most <= sweep._SHARE
    assert world.rows()


class _Crowd:
    """Receivers of two tenants that answer together, after some time; the other one answers at once."""

    SECONDS = 0.1

    def __init__(self, world: WebhookWorld, slow: set[str], outcome: Any) -> None:
        self.tenants = {row["webhook_id"]: row["pk"] for row in world.rows("webhook")}
        self.slow, self.outcome = slow, outcome
        self.began: list[str] = []
        self.under_way, self.most = Counter[str](), 0
        self.lock = threading.Lock()

    def send(self, url: str, *_: Any) -> Answer:
        webhook = url.rpartition("/")[2]
        self.began.append(webhook)
        if webhook not in self.slow:
            return OK
        with self.lock:
            self.under_way[self.tenants[webhook]] += 1
            self.most = max(self.most, *self.under_way.values())
        time.sleep(self.SECONDS)
        with self.lock:
            self.under_way[self.tenants[webhook]] -= 1
        if isinstance(self.outcome, Exception):
            raise self.outcome
        return self.outcome  # type: ignore[no-any-return]


def test_lane_ends_at_the_deadline_of_its_receiver(world: WebhookWorld) -> None:
    world.subscribe(failing_since=START.isoformat())
    world.receiver.script = [BAD]
    for number in range(80):
        world.notify(notice=notice_of(NOTICE.replace("tea-01", f"tea-{number}x")))
    deliveries = world.deliveries()
    seconds = itertools.count()
    # Each delivery takes two seconds by this clock: it is read three times.
    clock = mock.Mock(side_effect=lambda: START + timedelta(seconds=next(seconds)))
    lane = sweep._Lane(deque(deliveries.table.due(world.now)))
    turns = 0
    with mock.patch.object(sweep.Sweep, "_tried", return_value="not_delivered"):
        while not lane.over:
            sweep.Sweep(replace(deliveries, clock=clock))._turn(lane, lambda: True)
            turns += 1

    assert (turns, 80 - len(lane.waiting)) == (12, 60)


def test_sweep_makes_the_first_attempts_for_a_slow_receiver(world: WebhookWorld) -> None:
    world.subscribe()
    world.receiver.script = [Answer(200, SLOW_SECONDS), OK]
    world.notify()
    world.notify(notice=notice_of(NOTICE.replace("tea-01", "tea-02")))
    assert len(world.receiver.messages) == 1
    world.sweep()
    assert len(world.receiver.messages) == 2

    world.now += timedelta(minutes=11)
    world.notify(notice=notice_of(NOTICE.replace("tea-01", "tea-03")))
    assert len(world.receiver.messages) == 3


def test_due_deliveries_of_a_removed_subscription_are_cancelled(world: WebhookWorld) -> None:
    key = world.subscribe(failing_since=START.isoformat())
    world.notify()
    world.client.delete_item(TableName=world.table_name, Key={name: {"S": value} for name, value in key.row.items()})
    world.drain()

    assert [row["status"] for row in world.rows()] == [Status.CANCELLED]
    assert (world.receiver.messages, world.rows("webhook")) == ([], [])


def test_resubscribed_address_gets_nothing_of_its_removed_subscription(
    world: WebhookWorld,
) -> None:
    key = world.subscribe()
    world.receiver.script = [BAD, OK]
    world.notify()
    table = world.deliveries().table
    found = table.find(key)
    assert found
    assert table.remove(found, world.now)
    world.now += timedelta(seconds=1)
    again = {**found.values, "created_at": world.now.isoformat()}
    world.client.put_item(
        TableName=world.table_name, Item={name: to_value(value, fractions=True) for name, value in again.items()}
    )
    world.drain()

    assert [row["status"] for row in world.rows()] == [Status.CANCELLED]
    assert len(world.receiver.messages) == 1


def test_delivery_is_redelivered_under_its_id(world: WebhookWorld) -> None:
    key = world.subscribe()
    world.receiver.script = [Answer(410, 0.01), OK]
    world.notify()
    world.now += timedelta(seconds=1)
    deliveries = world.deliveries()
    deliveries.table.change(key, {"status": "ACTIVE"})
    (row,) = world.rows()
    seen, subscription = deliveries.table.delivery(key, row["event_id"]), deliveries.table.find(key)
    assert seen is not None
    assert subscription is not None
    claimed = deliveries.table.reopen(subscription, seen, "me", world.now)
    assert claimed is not None
    assert deliveries.table.reopen(subscription, seen, "another", world.now) is None
    deliveries.attempt(claimed)

    assert deliveries.table.reopen(subscription, seen, "me", world.now) is None, "a write that lands twice"
    assert [row["status"] for row in world.rows()] == [Status.DELIVERED]
    assert "failed_at" not in world.rows()[0]
    assert len({message for _, message, _ in world.receiver.messages}) == 1


def test_late_sender_does_not_overwrite_its_successor(world: WebhookWorld) -> None:
    key = world.subscribe()
    world.receiver.script = [BAD, OK]

    def another_is_first() -> None:
        world.receiver.during = lambda: None
        world.now += timedelta(minutes=2)
        world.sweep()

    world.receiver.during = another_is_first
    world.notify()

    assert key.tenant_code == TENANT
    assert [row["status"] for row in world.rows()] == [Status.DELIVERED]
