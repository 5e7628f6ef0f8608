"""One run of a schedule: the queue, sweeps, receivers, Parameter Store, and operators."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from runtime.exchange import NoResponse
from stepwise.operations import webhooks
from tests.faults.actors import executing as shared
from tests.faults.actors.rows import plain
from tests.faults.invocation import Died, Invocation
from tests.faults.seams import Document
from tests.faults.webhooks import schedule as s
from tests.faults.webhooks.engine import Engine
from tests.faults.webhooks.invariants import ANSWERS
from tests.faults.webhooks.judge import Judge
from tests.faults.webhooks.plan import (
    BUSY,
    CRAWLS,
    DRAGS,
    FAILS,
    FLAPS,
    GONE,
    HANGS,
    HOUR,
    MINUTE,
    WORKS,
    Subscriber,
    plan,
)
from tests.kit.deployed_stack import Handler
from tests.kit.engines.in_process import Answer
from webhooks.delivering import Deliveries

COMMAND = "WebhookCommand"
_TRIES = 6
_REFUSED = {"InvalidWebhook", "DeliveryBusy"}
_MAX_SWEEPS = 300
_STALE = 5.0
_STATUS = {
    WORKS: (200, 204),
    FAILS: (500, 302, 404),
    BUSY: (429, 503),
    GONE: (410,),
    FLAPS: (200, 500),
    CRAWLS: (200,),
    DRAGS: (500,),
}
_SLOW_SECONDS = 9.5
_AFTER = ("600", "18000", "Sun, 22 Nov 2026 12:00:00 GMT", "Fri, 31 Dec 9999 23:59:59 -0100", "soon")


@dataclass
class Run(shared.Executing):
    """A run; hooks of the engine at each seam. parameters: those in Parameter Store. refused: refused calls."""

    TEARS: ClassVar = False

    engine: Engine = field(kw_only=True)
    environments: list[Deliveries] = field(default_factory=list)
    parameters: dict[str, str] = field(default_factory=dict)
    refused: int = 0
    sweeps: int = 0
    _ticks: set[float] = field(default_factory=set)
    _written: dict[str, tuple[float, Document | None]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plan = plan(self.schedule)
        self.judge = Judge(self)

    @property
    def tally(self) -> Judge:
        return self.judge

    @property
    def handlers(self) -> Mapping[str, Handler]:
        return {**self.engine.handlers, COMMAND: self._command}

    def environment(self) -> Deliveries:
        """Return any environment of a function."""
        return self.chance.choice(self.environments)

    # The queue.

    def notice(self, number: int, document: Document) -> None:
        """Put a message in the queue; redrive it if it goes to the dead-letter queue."""
        for _ in range(3):
            if self.received("NotifyWebhooksFunction", f"NotifyWebhooks@{number}", document):
                return
            self.simulation.sleep(self.later.uniform(0, HOUR))
        self.judge.broken(ANSWERS, f"notice {number} is never handled")

    # Sweeps.

    def due(self, at: float) -> None:
        """Schedule work for the next sweep, at the full minute. Sweeps that find nothing are skipped."""
        tick = math.ceil(max(at, self.simulation.now) / MINUTE) * MINUTE
        begin, end = self.plan.sweepless
        tick = math.ceil(end / MINUTE) * MINUTE if begin <= tick < end else tick
        if tick not in self._ticks and self.sweeps < _MAX_SWEEPS:
            self._ticks.add(tick)
            self.spawn(self._tick, tick - self.simulation.now)

    def _tick(self) -> None:
        now = self.simulation.now
        if self.judge.anything_due(now):
            for _ in range(1 + (self.later.random() < 0.15)):
                self.spawn(self.sweep)
            self.due(now + 1)

    def sweep(self) -> None:
        self.sweeps += 1
        began, injected = self.simulation.now, len(self.faults.injected)
        answer = self.invoke("SweepWebhooksFunction", {"source": "aws.events"}, "SweepWebhooks")
        if not answer.get("error") and len(self.faults.injected) == injected:
            self.judge.swept(began)

    # Operators.

    def operate(self, one: Subscriber) -> None:
        """Run the operators' actions on a subscription, one after the other."""
        for moment, kind in sorted((moment, kind) for moment, kind, other in self.plan.actions if other is one):
            self.simulation.sleep(max(0, moment - self.simulation.now))
            self.act(kind, one)

    def act(self, kind: str, one: Subscriber) -> None:
        match kind:
            case "remove" | "resubscribe":
                self.remove(one)
                if kind == "resubscribe":
                    self.simulation.sleep(self.later.choice((0.0, 20.0, HOUR)))
                    self.subscribe(one)
            case "pause":
                self.command("disable", one)
                self.simulation.sleep(self.later.choice((1.0, 5 * MINUTE, 4 * HOUR)))
                self.command("enable", one)
                self.resend(one)
            case "rotate":
                self.rotate("rotate", one)
                self.simulation.sleep(self.later.choice((1.0, 5 * MINUTE, 4 * HOUR)))
                self.rotate("finish", one)
            case "test":
                self._call("SendWebhookFunction", self._request(one), "SendWebhook.test")
            case _:
                self.resend(one)

    def subscribe(self, one: Subscriber) -> None:
        if one.tenant is None:
            answer = self.command("subscribe", one)
        else:
            request = {"tenant_code": one.tenant, "url": one.url, "events": list(one.events)}
            answer = self._call("SubscribeWebhookFunction", request, f"Subscribe@{one.number}")
        if not answer.get("error"):
            self.judge.subscribed(one)

    def rotate(self, kind: str, one: Subscriber) -> None:
        answer = self.command(kind, one)
        if not answer.get("error"):
            self.judge.printed(one, answer["body"])

    def remove(self, one: Subscriber) -> None:
        if one.tenant is None:
            self.command("remove", one)
        else:
            request = {"tenant_code": one.tenant, "webhook_id": one.key.webhook_id}
            self._call("RemoveWebhookFunction", request, f"Remove@{one.number}")

    def resend(self, one: Subscriber, event_id: str = "") -> None:
        """Send a delivery again, or all that failed."""
        failed = [] if event_id else self.command("failed", one).get("body") or []
        for wanted in [event_id] if event_id else failed if isinstance(failed, list) else []:
            self._call("SendWebhookFunction", {**self._request(one), "event_id": wanted}, f"SendWebhook@{one.number}")

    @staticmethod
    def _request(one: Subscriber) -> Document:
        tenant = {"tenant_code": one.tenant} if one.tenant else {}
        return {"webhook_id": one.key.webhook_id, **tenant}

    def command(self, kind: str, one: Subscriber) -> Document:
        """Repeat a command, as an operator, until it has a response. Nothing else repeats it."""
        event = json.dumps({"kind": kind, "subscriber": one.number})
        name = f"{kind}@{one.number}"

        def run() -> Document:
            self.counts[name] += 1
            return self.run_invocation(Invocation(f"{name}#{self.counts[name]}", COMMAND, event))

        return self._until_final(run)

    def _call(self, function: str, request: Document, name: str) -> Document:
        return self._until_final(lambda: self.invoke(function, request, name))

    def _until_final(self, call: Callable[[], Document]) -> Document:
        """Repeat a call until its response is final."""
        for number in range(_TRIES):
            answer = call()
            error = answer["body"]["errorType"] if answer.get("error") else ""
            if not error or error in _REFUSED:
                self.refused += bool(error)
                return answer
            self.simulation.sleep(self.chance.uniform(1, 30) * (number + 1))
        return answer

    def _command(self, event: Any, _: Any) -> Any:
        stack = self.engine.operators
        one = next(one for one in self.plan.subscribers if one.number == event["subscriber"])
        match event["kind"]:
            case "subscribe":
                return webhooks.subscribe(stack, None, one.url, one.events, lambda *_: ["93.184.216.34"]).again
            case "remove":
                return webhooks.remove(stack, one.key)
            case "disable" | "enable" as kind:
                return webhooks.change(stack, one.key, active=kind == "enable")
            case "failed":
                own = [found for found in webhooks.subscriptions(stack) if found.key == one.key]
                return [found.event.id for found in webhooks.failed(stack, own)]
            case kind:
                return webhooks.rotate(stack, one.key, finish=kind == "finish")

    def meanwhile(self, kind: str) -> None:
        one = self.later.choice(self.plan.subscribers)
        works: dict[str, Callable[[], None]] = {
            s.RESENT_AT: self._resend_any,
            s.PAUSED_AT: partial(self.act, "pause", one),
            s.REMOVED_AT: partial(self.act, self.later.choice(("remove", "resubscribe")), one),
            s.CHANGED_AT: self.later.choice(
                (partial(self.rotate, "rotate", one), partial(self.rotate, "finish", one), partial(self.subscribe, one))
            ),
            s.SWEEP_AT: self.sweep,
        }
        if work := works.get(kind):
            self.spawn(work, bare=True)

    def _resend_any(self) -> None:
        if self.judge.rows:
            webhook_id, event_id = self.later.choice(list(self.judge.rows))
            self.resend(self.plan.of(webhook_id), event_id)

    # Invocations.

    def run_invocation(self, invocation: Invocation) -> Document:
        self.limit(invocation, 600 if invocation.function == COMMAND else invocation.timeout)
        began = self.simulation.now
        answer = super().run_invocation(invocation)
        body = answer["body"]
        refused = answer.get("error") and body["errorType"] in _REFUSED
        failed = answer.get("error") or (isinstance(body, dict) and body.get("batchItemFailures"))
        if failed and not refused and not self.disturbed:
            self.judge.broken(ANSWERS, f"{invocation.id}: {body}")
        if invocation.function == "NotifyWebhooksFunction" and not failed:
            self.judge.handled(began, json.loads(json.loads(invocation.event)["Records"][0]["body"]))
        return answer

    def fault_at_call(self, invocation: Invocation) -> str:
        assert invocation.remaining is not None
        if invocation.remaining() <= 0 or invocation.dead:
            invocation.dead = True
            raise Died
        return super().fault_at_call(invocation)

    def call_weight(self, operation: str) -> float:
        return 2 if operation in {"Post", "UpdateItem", "PutItem"} else 1

    def _call_kinds(self, invocation: Invocation) -> list[str]:
        return [*super()._call_kinds(invocation), *(s.INDEX_KINDS if invocation.operation == "Query" else ())]

    def logged(self, message: str, extra: Document) -> None:
        if message == "gave up":
            self.judge.alarmed(extra["webhook_id"], extra["event_id"])

    # Outside.

    def receive(self, url: str, deadline: Any, headers: Document, body: str) -> Answer:
        """Receive a request that has left."""
        one = next(one for one in self.plan.subscribers if one.url == url)
        does = one.does(self.simulation.now)
        with self.judge.sending(one, headers, body) as ledger:
            if does == HANGS:
                self.judge.hangs[one.number] = self.simulation.now
                self.simulation.sleep(deadline.left())
                raise NoResponse("no answer in time")
            if does in {CRAWLS, DRAGS}:
                self.judge.hangs[one.number] = self.simulation.now
                self.simulation.sleep(min(_SLOW_SECONDS, deadline.left()))
            else:
                self.simulation.sleep(self.chance.choice((0.02, 0.3, 2.0, 7.0)))
            status = self.chance.choice(_STATUS[does])
            after = self.chance.choice(_AFTER) if does == BUSY else ""
            self.judge.answered(one, ledger, status, after)
        return status, {"Retry-After": after} if after else {}, b""

    def parameter(self, operation: str, parameters: Document) -> Answer:
        """Answer for Parameter Store."""
        name, held = parameters["Name"], self.parameters.get(parameters["Name"])
        if operation == "PutParameter":
            if held is not None and not parameters["Overwrite"]:
                return 400, {}, json.dumps({"__type": "ParameterAlreadyExists"}).encode()
            self.parameters[name] = parameters["Value"]
        elif held is None:
            return 400, {}, json.dumps({"__type": "ParameterNotFound"}).encode()
        elif operation == "DeleteParameter":
            del self.parameters[name]
        else:
            return 200, {}, json.dumps({"Parameter": {"Value": held}}).encode()
        return 200, {}, b"{}"

    # Events.

    def wrote(self, _table: str, old: Document | None, new: Document | None) -> None:
        """Judge a written row."""
        row = new or old or {}
        self._written[row["sk"]["S"]] = (self.simulation.now, old)
        try:
            self.judge.wrote(plain(old) if old else None, plain(new) if new else None)
        except Exception as error:
            # The handler that writes would take the request for its own.
            self.simulation.errors.append(error)

    def carried_out(self, *_: object) -> None:
        """Do nothing: each write is judged separately."""

    def reads_late(self) -> bool:
        actor = self.simulation.current
        return actor is not None and actor.notes.get("fault") == s.STALE_AT

    def as_before(self, items: list[Document], due: Document) -> list[Document]:
        """Return what the index of due deliveries shows without the writes of the last seconds."""
        recent = {key: old for key, (at, old) in self._written.items() if at > self.simulation.now - _STALE}
        before = [old for old in recent.values() if old and old.get("next_try_at", {"S": "~"})["S"] <= due["S"]]
        return [*(item for item in items if item["sk"]["S"] not in recent), *before]
