"""Judges webhooks by their rows, as written, and by the messages that receivers got."""

import base64
import hashlib
import hmac
import json
from collections import Counter, defaultdict
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING

from tests.faults.actors.engine import START
from tests.faults.actors.judging import Judging
from tests.faults.seams import Document
from tests.faults.webhooks import invariants as i
from tests.faults.webhooks.plan import DAY, HOUR, MINUTE, SLOW, WORKS, Subscriber

if TYPE_CHECKING:
    from tests.faults.webhooks.run import Run

_LIFETIME = 90 * DAY
_ENDED = {"DELIVERED", "FAILED", "CANCELLED"}
_LEASED = {"owner", "next_try_at", "shard"}
_NEXT = {"WAITING": {"WAITING", *_ENDED}}
# A function reads a secret once a minute.
_FRESH = 61
# The maximum duration of a request, in seconds.
_REQUEST = 10
# A write that hangs, or whose function does, lands at most this much later.
_LANDS = 20 * MINUTE
_SWEEPS = 1
_PREFIX = "/stepwise/webhooks"
type Name = tuple[str, str]
"""Webhook id and event id."""


@dataclass
class Ledger:
    """A delivery, since its row was written or an operator sent it again.

    claimed: when the lease was taken. accepted: by the receiver. answer: the receiver's last one. asked: until when it
    asks for no try. passed: clean sweeps since it is due. under_way: requests in flight.
    """

    opened: float
    claimed: float = 0
    accepted: list[float] = field(default_factory=list)
    answer: str = ""
    asked: float = 0
    gone: bool = False
    alarmed: bool = False
    passed: int = 0
    under_way: int = 0


class Judge(Judging["Run"]):
    """Judges webhooks.

    rows: deliveries; webhooks: subscriptions, with `since`. removed, disabled: moments, by webhook.
    unused: parameters that no subscription names, by key: when a sweep deletes them. kept: endpoints that a webhook has
    named: since when, and which. hangs: the last request to a receiver that was slow or unanswered, by subscriber.
    delivered: the last accepted message, by webhook. ids: by status change. accepted: messages. resent: deliveries
    that an operator sent again. ends: statuses of what has ended.
    """

    def __init__(self, run: "Run") -> None:
        super().__init__(run)
        self.rows: dict[Name, Document] = {}
        self.ledgers: dict[Name, Ledger] = {}
        self.webhooks: dict[str, Document] = {}
        self.unused: dict[tuple[str, str], float] = {}
        self.removed: defaultdict[str, list[float]] = defaultdict(list)
        self.disabled: defaultdict[str, list[tuple[float, float]]] = defaultdict(list)
        self.kept: defaultdict[str, list[tuple[float, Document]]] = defaultdict(list)
        self.hangs: dict[int, float] = {}
        self.accepted = self.resent = 0
        self.delivered: dict[str, float] = {}
        self.ids: dict[str, str] = {}
        self.ends: Counter[str] = Counter()

    @property
    def now(self) -> float:
        return self.run.simulation.now

    def _named(self, name: Name) -> str:
        row = self.rows.get(name)
        return f"{_key(row['body'])[2] if row else name[1]} for r{self.run.plan.of(name[0]).number}"

    def _function(self) -> str:
        return self.run.invocation.function if self.run.invocation else ""

    # Subscriptions.

    def wrote(self, before: Document | None, row: Document | None) -> None:
        """Judge a written row."""
        match (row or before or {})["kind"]:
            case "webhook":
                self._wrote_webhook(before, row)
            case "delivery":
                self._wrote_delivery(before, row)
            case "secret":
                self._wrote_unused(before, row)

    def _wrote_webhook(self, before: Document | None, row: Document | None) -> None:
        webhook_id = (row or before or {})["webhook_id"]
        if row is None:
            self.removed[webhook_id].append(self.now)
            self._enabled(webhook_id)
            self.webhooks.pop(webhook_id, None)
            self.kept[webhook_id].append((self.now, {"secrets": []}))
            return
        since = self.webhooks[webhook_id]["since"] if before else self.now
        self.webhooks[webhook_id] = {**row, "since": since}
        if before is None or before.get("version") != row.get("version"):
            self._began_to_name(webhook_id, row)
        if before and before["status"] != row["status"]:
            self.run.say(f"{row['address']} is {row['status']}")
        if row["status"] == "DISABLED" and (before is None or before["status"] == "ACTIVE"):
            self.disabled[webhook_id].append((self.now, 10**9))
            if before and before.get("last_at") != row.get("last_at"):
                self._judge_disabled(webhook_id)
        if row["status"] == "ACTIVE":
            self._enabled(webhook_id)

    def _enabled(self, webhook_id: str) -> None:
        """End its disabled period, if one is open."""
        spans = self.disabled[webhook_id]
        spans[-1:] = [(begin, min(end, self.now)) for begin, end in spans[-1:]]

    def _judge_disabled(self, webhook_id: str) -> None:
        gone = any(one.gone for name, one in self.ledgers.items() if name[0] == webhook_id)
        good = max(self.delivered.get(webhook_id, 0), self.webhooks[webhook_id]["since"])
        if not gone and self.now - good < 3 * DAY - _LANDS:
            self.broken(i.DISABLED, f"{self.webhooks[webhook_id]['address']}, {self.now - good:.0f} s after a success")

    def _stopped(self, webhook_id: str, since: float, until: float) -> bool:
        """True if it was removed or disabled at a moment in between."""
        return any(since <= at <= until for at in self.removed[webhook_id]) or any(
            begin <= until and end >= since for begin, end in self.disabled[webhook_id]
        )

    def _began_to_name(self, webhook_id: str, row: Document) -> None:
        """Note a new subscription, or changed secrets."""
        held = self.run.parameters.get(_parameter(row))
        value = json.loads(held) if held else {"secrets": []}
        if not value["secrets"]:
            self.broken(i.SECRETS, f"{row['address']} names no secret")
        before = self.kept[webhook_id][-1][1]["secrets"] if self.kept[webhook_id] else []
        added, ended = value["secrets"][1:] == before and len(before) < 2, value["secrets"] == before[:1]
        if not added and not ended:
            self.broken(i.STEPS, f"{row['address']} had {len(before)} secrets, and has {len(value['secrets'])}")
        self.kept[webhook_id].append((self.now, value))
        of_tenant = sum(one["pk"] == row["pk"] for one in self.webhooks.values())
        if of_tenant > self.run.plan.limit:
            self.broken(i.LIMIT, f"{row['pk']} has {of_tenant}")

    def _wrote_unused(self, before: Document | None, row: Document | None) -> None:
        key = (row or before or {})["pk"], (row or before or {})["sk"]
        self.unused.pop(key, None)
        if row:
            self.unused[key] = _moment(row["next_try_at"])
            self.run.due(self.unused[key])

    def printed(self, one: Subscriber, secret: str) -> None:
        """Judge the newest secret, which a rotation has returned."""
        if not any(secret in value["secrets"] for _, value in self.kept[one.key.webhook_id]):
            self.broken(i.STEPS, f"r{one.number} has never had a secret that was returned")

    # Deliveries.

    def _wrote_delivery(self, before: Document | None, row: Document | None) -> None:
        name = (row or before or {})["webhook_id"], (row or before or {})["event_id"]
        if row is None:
            if not before or before.get("expires_at", 10**12) > _epoch(self.now):
                self.broken(i.FORWARD, f"{self._named(name)} is deleted")
            del self.rows[name]
            return
        self.rows[name] = row
        if before is None or before["created_at"] != row["created_at"]:
            self._began(name, before, row)
        else:
            self._changed(name, before, row)
        self._judge_shape(name, row)
        if "next_try_at" in row:
            self.run.due(_moment(row["next_try_at"]))

    def _began(self, name: Name, before: Document | None, row: Document) -> None:
        if before and before.get("expires_at", 10**12) > _epoch(self.now):
            self.broken(i.FORWARD, f"{self._named(name)} was {before['status']}, and is written again")
        self.ledgers[name] = Ledger(self.now, self.now)
        key = _key(row["body"])
        if self.ids.setdefault(str(key), name[1]) != name[1]:
            self.broken(i.SAME, f"{self._named(name)} is {name[1]} and {self.ids[str(key)]}")
        if row["status"] == "FAILED":
            self._judge_end(name, row)
        if row["pk"] not in {f"TENANT#{key[1]}", "OPERATOR"}:
            self.broken(i.ROUTED, f"{self._named(name)}, and it is of {key[1]}")
        webhook = self.webhooks.get(name[0])
        if webhook and row["type"].partition(".")[0] not in webhook["events"]:
            self.broken(i.ROUTED, f"{self._named(name)} is {row['type']}")

    def _changed(self, name: Name, before: Document, row: Document) -> None:
        ledger = self.ledgers[name]
        if before["body"] != row["body"]:
            self.broken(i.SAME, self._named(name))
        if row.get("owner") not in {None, before.get("owner")}:
            self._taken(name, before, row)
        elif before["status"] in _ENDED and before != row:
            self.broken(i.FORWARD, f"{self._named(name)} was {before['status']}, and changes")
        elif row["status"] in _ENDED:
            self._judge_end(name, row)
        elif "owner" not in row:
            ledger.passed = 0
            if row["last_outcome"] == ledger.answer and _moment(row["next_try_at"]) < ledger.asked:
                self.broken(i.PATIENT, f"{self._named(name)} is tried again at {row['next_try_at']}")

    def _taken(self, name: Name, before: Document, row: Document) -> None:
        """Judge a lease that a sender has taken."""
        again = before["retry_until"] != row["retry_until"]
        if "owner" in before and _moment(before["next_try_at"]) > self.now:
            self.broken(i.LEASE, f"{self._named(name)} is taken from its owner")
        if again and self._function() in {"SendWebhookFunction", ""}:
            self.ledgers[name] = Ledger(self.now)
            self.resent += 1
        elif again or before["status"] != "WAITING":
            self.broken(i.FORWARD, f"{self._named(name)} was {before['status']}, and nobody sends it again")
        elif "owner" not in before and _moment(before["next_try_at"]) > self.now:
            self.broken(i.PATIENT, f"{self._named(name)} is taken before it is due")
        self.ledgers[name].claimed, self.ledgers[name].passed = self.now, 0

    def _judge_shape(self, name: Name, row: Document) -> None:
        ended = row["status"] in _ENDED
        wrong = _LEASED & {*row} if ended else {"shard", "next_try_at"} - {*row}
        wrong |= {one for one in ("expires_at", "ended_at") if (one in row) is not ended}
        if ended and "ended_at" in row and row.get("expires_at") != int(_epoch(_moment(row["ended_at"]) + _LIFETIME)):
            wrong.add("expires_at")
        if ("failed_at" in row) is not (row["status"] == "FAILED"):
            wrong.add("failed_at")
        if wrong:
            self.broken(i.SHAPE, f"{self._named(name)} is {row['status']}: {sorted(wrong)}")

    def _judge_end(self, name: Name, row: Document) -> None:
        ledger, status = self.ledgers[name], row["status"]
        self.ends[status] += 1
        self.run.say(f"{self._named(name)} {status}: {row['last_outcome']}")
        # Data that the function has read, perhaps before it hung.
        since = min(ledger.claimed, self.now - (_LANDS if self.run.disturbed else MINUTE))
        late = self.now >= _moment(row["retry_until"]) - 3 * HOUR or ledger.asked >= _moment(row["retry_until"])
        true = {
            "DELIVERED": bool(ledger.accepted),
            "FAILED": late or ledger.gone or self._stopped(name[0], since, self.now),
            "CANCELLED": any(at >= ledger.opened - _LANDS for at in self.removed[name[0]]),
        }
        if not true[status]:
            self.broken(i.TRUE, f"{self._named(name)} is {status}: {row['last_outcome']}")
        if status == "DELIVERED" and ledger.accepted:
            self.delivered[name[0]] = max(self.delivered.get(name[0], 0), ledger.accepted[-1])
        if status == "FAILED" and ledger.opened < self.now and not ledger.alarmed:
            self.broken(i.ALARM, self._named(name))
        if status == "FAILED" and late and not self.run.disturbed:
            self._judge_reached(name, ledger, row)

    def _judge_reached(self, name: Name, ledger: Ledger, row: Document) -> None:
        """Judge a delivery that was given up after a day. It could have been tried every three hours."""
        one = self.run.plan.of(name[0])
        begin, end = max(0.0, self.now - 4 * HOUR), self.now
        swept = not (self.run.plan.sweepless[0] < end and self.run.plan.sweepless[1] > begin)
        works = {one.does(begin), *(kind for at, kind in one.phases if begin <= at <= end)} == {WORKS}
        if swept and works and ledger.asked < begin and not self._stopped(name[0], begin, end):
            self.broken(i.REACHED, f"{self._named(name)}: {row['last_outcome']}")

    def alarmed(self, webhook_id: str, event_id: str) -> None:
        self.ledgers[webhook_id, event_id].alarmed = True

    # Messages.

    @contextmanager
    def sending(self, one: Subscriber, headers: Document, body: str) -> Iterator[Ledger | None]:
        """Judge a request that has left, and is in flight."""
        name = one.key.webhook_id, str(headers["webhook-id"])
        self._judge_signature(one, headers, body)
        if name not in self.rows:
            if not name[1].startswith("test_"):
                self.broken(i.SAME, f"{name[1]} is the id of no delivery")
            yield None
            return
        row, ledger = self.rows[name], self.ledgers[name]
        if row["body"] != body:
            self.broken(i.SAME, f"{self._named(name)}: {body}")
        lease = _moment(row["next_try_at"]) if "owner" in row else 0
        if lease < self.now + _REQUEST or ledger.under_way:
            self.broken(i.LEASE, f"{self._named(name)}: {row['status']}, {ledger.under_way} others")
        removed = any(ledger.opened <= at < ledger.claimed for at in self.removed[name[0]])
        if removed or any(begin < ledger.claimed and end > self.now for begin, end in self.disabled[name[0]]):
            self.broken(i.STOPPED, self._named(name))
        if self.now > ledger.opened + DAY + _REQUEST:
            self.broken(i.PATIENT, f"{self._named(name)} is tried after {self.now - ledger.opened:.0f} s")
        ledger.under_way += 1
        try:
            yield ledger
        finally:
            ledger.under_way -= 1

    def _judge_signature(self, one: Subscriber, headers: Document, body: str) -> None:
        kept = self.kept[one.key.webhook_id]
        active = [
            value["secrets"]
            for (_, value), (until, _) in zip(kept, [*kept[1:], (self.now + 1, {})], strict=True)
            if until > self.now - _FRESH
        ]
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.{body}"
        right = [" ".join(_signature(secret, signed) for secret in secrets) for secrets in active if secrets]
        if headers["webhook-signature"] not in right or abs(int(headers["webhook-timestamp"]) - _epoch(self.now)) > 11:
            self.broken(i.SIGNED, f"r{one.number}: {headers}")

    def answered(self, one: Subscriber, ledger: Ledger | None, status: int, after: str) -> None:
        """Judge a receiver's response. after: its `Retry-After`."""
        self.run.say(f"r{one.number} answers {status} {after}".rstrip())
        if ledger is None:
            return
        if status < 300:
            ledger.accepted.append(self.now)
            self.accepted += 1
            if len(ledger.accepted) > 1 and not self.run.disturbed:
                self.broken(i.ONCE, f"r{one.number}, at {ledger.accepted}")
        ledger.gone |= status == 410
        fixed = {"Sun, 22 Nov 2026 12:00:00 GMT": 3 * HOUR, "Fri, 31 Dec 9999 23:59:59 -0100": 10**9}
        asked = fixed.get(after, self.now + int(after) if after.isdecimal() else 0.0)
        ledger.answer, ledger.asked = f"status {status}", asked - 1

    # Notices, sweeps and answers.

    def handled(self, began: float, notice: Document) -> None:
        """Judge a notice that the queue's function has handled. began: when it was invoked."""
        key = (notice["type"], notice["tenant_code"], notice["id"], notice["status"], notice["attempt"])
        for webhook_id, webhook in self.webhooks.items():
            tenant = webhook["pk"].partition("#")[2] or None
            mine = notice["type"] in webhook["events"] and tenant in {None, notice["tenant_code"]}
            if mine and webhook["since"] < began:
                found = [row for name, row in self.rows.items() if name[0] == webhook_id and _key(row["body"]) == key]
                if not found or found[0].get("expires_at", 10**12) <= _epoch(began):
                    self.broken(i.RECORDED, f"{key[2]} for {webhook['address']}: {found and found[0]['status']}")

    def anything_due(self, at: float) -> bool:
        return bool(self.due(at)) or any(moment <= at for moment in self.unused.values())

    def due(self, at: float) -> list[Name]:
        return [name for name, row in self.rows.items() if "next_try_at" in row and _moment(row["next_try_at"]) <= at]

    def swept(self, began: float) -> None:
        """Judge a sweep that no fault has hit. A receiver that hangs has separate time."""
        of_each = Counter(name[0] for name in self.rows)
        for name in self.due(began):
            one = self.run.plan.of(name[0])
            ledger, row = self.ledgers[name], self.rows[name]
            stopped = name[0] not in self.webhooks or self.webhooks[name[0]]["status"] == "DISABLED"
            # A receiver that hung until its subscription ended during the sweep had its share of the sweep's time.
            ends = [*self.removed[name[0]], *(begin for begin, _ in self.disabled[name[0]])]
            stopped &= all(at < began for at in ends)
            hung = one.does(began) in SLOW or self.now - self.hangs.get(one.number, -HOUR) < HOUR
            if hung and not stopped and self.now < _moment(row["retry_until"]):
                continue
            ledger.passed += 1
            if ledger.passed > _SWEEPS + of_each[name[0]] // self.run.plan.of_one:
                self.broken(i.TIMELY, f"{self._named(name)} is due since {row['next_try_at']}")

    def subscribed(self, one: Subscriber) -> None:
        """Judge a response that says that the subscription was created."""
        there, gone = self.webhooks.get(one.key.webhook_id), self.removed[one.key.webhook_id]
        if there is None and not any(at > self.now - HOUR for at in gone):
            self.broken(i.ANSWERS, f"r{one.number} was subscribed, and has no row")

    def at_last(self) -> None:
        """Judge the end, when nothing happens any more."""
        for name, row in self.rows.items():
            if row["status"] not in _ENDED:
                self.broken(i.ENDS, f"{self._named(name)} is {row['status']}")
        named = {_parameter(row) for row in self.webhooks.values()}
        if named != set(self.run.parameters):
            wrong = len(named - set(self.run.parameters)), len(set(self.run.parameters) - named)
            self.broken(i.SECRETS, f"{wrong[0]} subscriptions without one, {wrong[1]} that are left")


def _parameter(row: Document) -> str:
    """Return the name of the parameter that a subscription names."""
    return f"{_PREFIX}/{row['webhook_id']}.{row['version']}"


def _moment(text: str) -> float:
    return (datetime.fromisoformat(text) - START).total_seconds()


def _epoch(moment: float) -> float:
    return START.timestamp() + moment


def _key(body: str) -> tuple[str, str | None, str, str, int]:
    """Return the values that distinguish status changes."""
    whole = json.loads(body)
    data = whole["data"]
    return whole["type"].partition(".")[0], data["tenant_code"], data["id"], data["status"], data["attempt"]


def _signature(secret: str, signed: str) -> str:
    key = base64.b64decode(secret.removeprefix("whsec_"))
    return "v1," + base64.b64encode(hmac.new(key, signed.encode(), hashlib.sha256).digest()).decode()
