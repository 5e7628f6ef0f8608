"""Deliveries of webhooks: attempts, backoff, and their end."""

import itertools
from collections import deque
from dataclasses import replace
from datetime import timedelta
from unittest import mock

import pytest

from runtime.queues import InvalidMessage
from tests.kit.webhooks import LOST, NOTICE, OK, START, WebhookWorld, notice_of
from tests.unit import dynamodb
from webhooks import sweep
from webhooks.delivering import DISABLE_AFTER, SLOW_SECONDS, pause_after
from webhooks.errors import NotSent
from webhooks.event import event_of
from webhooks.sending import Answer
from webhooks.state import WINDOW, Status

BAD = Answer(500, 0.01)


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
