"""Deliberately broken variants of webhooks: the explorer must see each one fail. Several reproduce past defects.

Each is a small patch of the loaded code. `focus` says where its faults are drawn: a few schedules must do.
"""

import email.utils
import itertools
import random
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import Any

import webhooks.delivering
import webhooks.endpoints
import webhooks.sending
import webhooks.subscribing
import webhooks.sweep
import webhooks.table
from tests.faults import faults as f
from tests.faults.actors import executing
from tests.faults.actors import schedule as s
from tests.faults.actors.mutant import THROTTLED, Mutants
from tests.faults.mutant import replaced
from tests.faults.webhooks import invariants as breaks
from tests.faults.webhooks import play, run
from tests.faults.webhooks.plan import DAY, FAILS, FLAPS, GONE, WORKS, Plan, Subscriber, _crowd, notice
from tests.faults.webhooks.schedule import REMOVED_AT, RESENT_AT, SWEEP_AT
from webhooks.delivering import Deliveries, Notifying, Try
from webhooks.event import Event
from webhooks.sending import Answer
from webhooks.state import Delivery, Status, Subscription, Unused
from webhooks.sweep import Sweep, _Turns
from webhooks.table import WebhooksTable

MUTANTS = mutant = Mutants()

_NOTIFIED, _SWEPT = r"^NotifyWebhooks@\d+#1\.\d+\.call", r"^SweepWebhooks#[1-9]\.\d+\.call"
_FROZEN = ((r"^(Sweep|Notify)Webhooks.*#[1-6]$", (f.LATE, f.ABANDONED)),)
_BESIDE = ((f"{_SWEPT}1$", (SWEEP_AT, f.DUPLICATE_AT, s.SLOW)), (f"{_NOTIFIED}[23]$", (RESENT_AT, SWEEP_AT)))
_CRASHED = ((f"{_NOTIFIED}[23]$", (f.DIES_BEFORE, f.DIES_AFTER)),)


@mutant("one limit for all receivers together", breaks.TIMELY)
def _hidden() -> AbstractContextManager[None]:
    """A past defect: deliveries to a hanging receiver hid the retries of the others."""
    due = WebhooksTable.due
    return replaced(WebhooksTable, "due", lambda self, at: itertools.islice(due(self, at), 1))


@mutant("a backlog that is not sent, and drains as if it hung", breaks.TIMELY)
def _drained() -> AbstractContextManager[None]:
    """A past defect: failures of an unsent backlog counted as hanging requests, which slowed its drain."""
    given_up = Deliveries._given_up

    def slowly(self: Any, delivery: Any, made: Try) -> Try:
        return replace(given_up(self, delivery, made), hung=made.answer is None)

    stack, many = ExitStack(), [0.0005] * 10
    stack.enter_context(replaced(run, "plan", lambda _: _failing_days([(90, GONE)], *many)))
    stack.enter_context(replaced(Deliveries, "_given_up", slowly))
    return stack


@mutant("a failure that does not see the success beside it", breaks.DISABLED)
def _beside() -> AbstractContextManager[Any]:
    """A past defect: a working receiver was disabled."""
    note, stack = WebhooksTable.note_failure, ExitStack()
    days = 2.9, *(3.05 + number / 5000 for number in range(6))
    stack.enter_context(replaced(run, "plan", lambda _: _failing_days([(3.04 * DAY, FLAPS)], *days)))
    stack.enter_context(replaced(WebhooksTable, "note_failure", lambda *given, **_: note(*given)))
    return stack


def _failing_days(then: list[tuple[float, str]], *days: float) -> Plan:
    """Plan a receiver that fails at first. days: of the notices."""
    one, chance = Subscriber(0, "tenant1", ["command"], [(0.0, FAILS), *then]), random.Random(1)  # noqa: S311
    notices = [(notice(chance, number, "tenant1"), [day * DAY]) for number, day in enumerate((0.0, *days))]
    return Plan([one], notices, [], (0, 0), 500)


@mutant("a success that ends its delivery first", breaks.DISABLED, focus=((r"^Sweep.*call[45]$", (f.DIES_AFTER,)),))
def _ended_first() -> AbstractContextManager[Any]:
    """A past defect: after a crash in between, the failing days continued."""

    def delivered(self: Any, subscription: Subscription, delivery: Delivery, made: Try) -> Try:
        self._ended(delivery, Status.DELIVERED, made.outcome)
        self.table.change(subscription.key, self._last(made), ["failing_since"])
        return made

    stack = ExitStack()
    stack.enter_context(replaced(run, "plan", lambda _: _failing_days([(DAY, WORKS), (1.2 * DAY, FAILS)], 0.9, 3.05)))
    stack.enter_context(replaced(Deliveries, "_delivered", delivered))
    return stack


@mutant("a `Retry-After` beyond the calendar", breaks.ANSWERS)
def _calendar() -> AbstractContextManager[None]:
    """A past defect: a date that overflows raised an error."""

    def after(text: str) -> int:
        if text.isdecimal():
            return int(text)
        try:
            return max(
                0, int((email.utils.parsedate_to_datetime(text) - webhooks.sending.datetime.now(UTC)).total_seconds())
            )
        except ValueError:
            return 0

    return replaced(webhooks.sending, "_retry_after", after)


@mutant("an expired row that swallows a new event", breaks.RECORDED)
def _swallowed() -> AbstractContextManager[None]:
    """A past defect: the event was never recorded."""
    return replaced(WebhooksTable, "record", lambda self, delivery, _: self.put(delivery.values).applied)


@mutant("a removed subscription whose deliveries wait for the next one", breaks.STOPPED)
def _inherited() -> AbstractContextManager[None]:
    """A past defect: the next subscription sent the deliveries of the removed one."""
    return replaced(Subscription, "owns", lambda *_: True)


@mutant("a lease that is checked before the secret is read", breaks.LEASE, focus=_FROZEN)
def _checked_early() -> AbstractContextManager[None]:
    """A past defect: the lease could expire while the secret was read."""
    send = Deliveries.send

    def early(self: Any, subscription: Subscription, delivery: Delivery) -> Try:
        if "owner" in delivery.values and self.clock() + timedelta(seconds=15) >= delivery.next_try_at:
            return webhooks.delivering._EXPIRED
        return send(
            self, subscription, Delivery(delivery.key, {n: v for n, v in delivery.values.items() if n != "owner"})
        )

    return replaced(Deliveries, "send", early)


@mutant(
    "a resend that lands twice",
    *(breaks.FORWARD, breaks.PATIENT),
    focus=((r"^SendWebhook.*call[34]$", (s.HELD,)), (r"^Notify.*call4$", (RESENT_AT,))),
)
def _resent_twice() -> AbstractContextManager[None]:
    """A past defect: a resend whose write landed twice reset the delivery again."""
    free = "attribute_exists(#pk) AND (attribute_not_exists(#owner) OR #next_try_at <= :now OR #owner = :seen)"
    return replaced(webhooks.table, "_FREE", free)


@mutant("a lease that anybody takes", breaks.LEASE, breaks.FORWARD, focus=_BESIDE)
def _taken() -> AbstractContextManager[None]:
    def claim(self: Any, seen: Delivery, owner: str, at: datetime) -> Delivery:
        claimed = webhooks.table.leased(seen, owner, at)
        own = {name: claimed.values[name] for name in ("owner", "next_try_at", "attempts", "shard", "status")}
        self.update(seen.row, "attribute_exists(#pk)", own)
        return claimed

    return replaced(WebhooksTable, "claim", claim)


@mutant("an end by somebody who has lost the lease", breaks.FORWARD, breaks.SHAPE, breaks.LEASE, focus=_FROZEN)
def _any_owner() -> AbstractContextManager[None]:
    return replaced(webhooks.table, "_OWN", "attribute_exists(#pk) OR #owner = :holder")


@mutant("a sender that does not look at its lease", breaks.LEASE, focus=_FROZEN)
def _unchecked() -> AbstractContextManager[None]:
    return replaced(webhooks.delivering, "_TRY", -timedelta(days=1))


@mutant("a notice that comes again is sent again", breaks.FORWARD)
def _again() -> AbstractContextManager[None]:
    return replaced(webhooks.table, "NEW", "attribute_exists(#pk) OR attribute_not_exists(#pk)")


@mutant("what a crash left is never swept", breaks.ENDS, breaks.TIMELY, focus=_CRASHED)
def _left() -> AbstractContextManager[None]:
    due = WebhooksTable.due
    return replaced(WebhooksTable, "due", lambda self, at: (one for one in due(self, at) if "owner" not in one.values))


@mutant("an end that stays in the index", breaks.SHAPE)
def _indexed() -> AbstractContextManager[None]:
    return replaced(webhooks.table, "_LEASED", ("owner",))


@mutant("a failure that is not listed", breaks.SHAPE)
def _unlisted() -> AbstractContextManager[None]:
    ended = webhooks.table.ended
    return replaced(
        webhooks.table,
        "ended",
        lambda *given: {name: value for name, value in ended(*given).items() if name != "failed_at"},
    )


@mutant(
    "a subscription that is read once", breaks.STOPPED, breaks.TIMELY, focus=((r"^Notify.*call[24]$", (REMOVED_AT,)),)
)
def _remembered() -> AbstractContextManager[None]:
    find, known = WebhooksTable.find, dict[Any, Subscription]()

    def remembered(self: Any, key: Any) -> Subscription | None:
        named = str(play.engine().on.schedule), key
        if found := known.get(named) or find(self, key):
            known[named] = found
        return found

    return replaced(WebhooksTable, "find", remembered)


@mutant("a disabled subscription that is sent to", breaks.STOPPED)
def _active() -> AbstractContextManager[None]:
    return replaced(Subscription, "active", property(lambda _: True))


@mutant("an id for each try", breaks.SAME)
def _ids() -> AbstractContextManager[None]:
    numbers = itertools.count()
    real: Any = Delivery.event

    def event(self: Any) -> Event:
        return replace(real.fget(self), id=f"evt_{next(numbers)}")

    return replaced(Delivery, "event", property(event))


@mutant("a subscriber that gets every type", breaks.ROUTED)
def _unasked() -> AbstractContextManager[None]:
    def subscribed(self: Any, notice: Any) -> Any:
        return [one for tenant in (notice.tenant_code, None) for one in self.deliveries.table.subscriptions(tenant)]

    return replaced(Notifying, "_subscribed", subscribed)


@mutant("a redirect that counts as accepted", breaks.TRUE)
def _redirected() -> AbstractContextManager[None]:
    return replaced(Answer, "accepted", property(lambda self: 200 <= self.status < 400))


@mutant("a pause that no receiver asks for", breaks.PATIENT)
def _impatient() -> AbstractContextManager[None]:
    return replaced(webhooks.sending, "_retry_after", lambda _: 0)


@mutant("an alarm after the end", breaks.ALARM)
def _silent() -> AbstractContextManager[None]:
    def given_up(self: Any, delivery: Delivery, made: Try) -> Try:
        self._ended(delivery, Status.FAILED, made.outcome)
        return made

    return replaced(Deliveries, "_given_up", given_up)


@mutant("a delivery that is given up after its first try", breaks.TRUE)
def _hasty() -> AbstractContextManager[None]:
    def failed(self: Any, subscription: Any, delivery: Delivery, made: Try) -> Try:
        self.table.note_failure(subscription.key, self._last(made), self.clock())
        return self._given_up(delivery, made)  # type: ignore[no-any-return]

    return replaced(Deliveries, "_failed", failed)


@mutant("a row without its secret", breaks.SECRETS)
def _row_only() -> AbstractContextManager[None]:
    def store(self: Any, key: Any, endpoint: Any) -> Any:
        new = Unused(key, webhooks.subscribing.new_version(), pending=True)
        self.table.prepare(new, webhooks.subscribing._now())
        return webhooks.subscribing._Stored(new, endpoint.secrets[0])

    return replaced(webhooks.subscribing.Subscribing, "_store", store)


@mutant("a limit that is checked before the write only", breaks.LIMIT)
def _counted_before() -> AbstractContextManager[None]:
    """A past defect: concurrent subscriptions exceeded the limit."""

    def changed(self: Any, row: Any, condition: str, values: Any, **assign: Any) -> Any:
        counts = assign.get("kind") == "webhooks"
        any_count = "attribute_exists(#pk) OR attribute_not_exists(#pk)"
        return change(self, row, any_count if counts else condition, values, **assign)

    change = WebhooksTable._changed
    return replaced(WebhooksTable, "_changed", changed)


@mutant("a rotation that overwrites another one", breaks.STEPS)
def _overwritten() -> AbstractContextManager[None]:
    """A past defect: no message was signed with the secret that one call printed."""
    naming = webhooks.table._naming

    def loosely(seen: Subscription) -> tuple[str, dict[str, Any]]:
        return "#created_at = :since", naming(seen)[1]

    return replaced(webhooks.table, "_naming", loosely)


@mutant("secrets that no sweep deletes", breaks.SECRETS)
def _left_secret() -> AbstractContextManager[None]:
    return replaced(Sweep, "_unused_deleted", lambda *_: 0)


@mutant("lanes that wait for those of other tenants", breaks.TIMELY)
def _unfair() -> AbstractContextManager[Any]:
    """A past defect: two tenants with slow receivers took all senders."""

    def first(self: Any) -> Any:
        for tenant, lanes in self.lanes.items():
            if lanes:
                return tenant, lanes.popleft()
        return None

    stack = ExitStack()
    stack.enter_context(replaced(run, "plan", lambda schedule: _crowd(schedule.chance("plan"))))
    stack.enter_context(replaced(_Turns, "next", first))
    for name in ("_TURN_SECONDS", "_LANE_SECONDS"):
        stack.enter_context(replaced(webhooks.sweep, name, 10**9))
    return stack


@mutant("a success that is taken for a failure", breaks.ONCE)
def _doubted() -> AbstractContextManager[None]:
    return replaced(Try, "delivered", property(lambda _: False))


@mutant("a queue that gives a throttled message five deliveries", executing.TRIED, focus=THROTTLED)
def _five_deliveries() -> AbstractContextManager[None]:
    """Restore a past defect: throttled deliveries counted as tries."""
    queue = executing.queue_of("NotifyWebhooksFunction")
    policy = {**queue["RedrivePolicy"], "maxReceiveCount": 5}
    return replaced(executing, "queue_of", lambda _: {**queue, "RedrivePolicy": policy})
