"""Executions of a machine, their ends from outside, their end events, and the records of streams."""

import json
import types
from abc import ABC
from collections.abc import Callable, Iterable
from collections.abc import Mapping as AnyMapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any, ClassVar

from ministack.services import dynamodb, stepfunctions

from tests.faults import faults as f
from tests.faults import redriving
from tests.faults.actors import schedule as s
from tests.faults.actors.acting import Visit
from tests.faults.actors.engine import Engine, Mapping
from tests.faults.actors.invoking import Invoking
from tests.faults.actors.simulation import Flag, Gone
from tests.faults.engine import execution_error
from tests.faults.invocation import as_delivered
from tests.faults.seams import Document, Send
from tests.kit.deployed_stack import Handler
from tests.kit.engines.in_process import copied
from tests.kit.template import FUNCTIONS, arn_of, of_type

TRIED = "a message goes to the dead-letter queue after five tries, not counting throttling"
_TRIES = 5


@dataclass
class Executing(Invoking, ABC):
    """Hooks of the engine of state machines.

    events: all status events that were delivered. redriven: ARNs of executions.
    """

    RECORD_WEIGHT: ClassVar[float] = 8
    REDRIVE_WEIGHT: ClassVar[float] = 8

    engine: Engine = field(kw_only=True)
    events: list[Callable[[], object]] = field(default_factory=list, kw_only=True)
    redriven: set[str] = field(default_factory=set, kw_only=True)

    @property
    def handlers(self) -> AnyMapping[str, Handler]:
        return self.engine.handlers

    def started(self, run: Callable[[], None]) -> None:
        self.spawn(run, self.chance.uniform(0.02, 0.2))

    def new_token(self) -> str:
        self.counts["token"] += 1
        return f"token-{self.counts['token']:04}"

    def new_id(self) -> Any:
        """Replace `uuid4`."""
        self.counts["id"] += 1
        return types.SimpleNamespace(hex=f"{self.counts['id']:032x}")

    def new_version(self) -> str:
        """Return a version of an object, or the id of an S3 request."""
        self.counts["version"] += 1
        return f"version-{self.counts['version']:04}"

    def stop(self, execution: Document, status: str) -> None:
        self.engine.stop(execution, status)

    def back_off(self, seconds: float) -> None:
        """Pause before a retry, as the machine does."""
        self.delay(seconds)
        self.go_on(self.visit)

    def invoke_in_machine(self, function: str, event: Document) -> Document:
        visit = self.visit
        assert visit is not None
        answer = self.invoke(function, event, visit.place)
        self.go_on(visit)
        return answer

    def state_fault(self, place: str, state: str, kinds: Iterable[str], weight: float) -> str:
        """Return the kind of fault that hits a state; empty for none."""
        kind = self.fault_at(place, [*kinds], weight)
        if kind:
            self.tally.stops[state, kind] += 1
        return kind

    def stay(self, visit: Visit, kind: str, run: Callable[[], Any]) -> Any:
        """Stay in a Task state, with the effects of a fault on its execution before and after it."""
        self.end(visit, kind if kind in f.BEFORE_STATE else "")
        try:
            answer = run()
        except stepfunctions._ExecutionError:
            self.go_on(visit)
            raise
        self.end(visit, "" if kind in f.BEFORE_STATE else kind)
        return answer

    def end(self, visit: Visit, kind: str) -> None:
        """Apply the effect of a state's fault to its execution."""
        if kind in f.STATUS_AFTER:
            self.stop(visit.execution, f.STATUS_AFTER[kind])
        self.go_on(visit)
        if kind in {f.RUNTIME_ERROR_BEFORE, f.RUNTIME_ERROR_AFTER}:
            raise execution_error("States.Runtime", "a path that is not there")

    def go_on(self, visit: Visit | None) -> None:
        """Continue, unless the execution has ended or a sibling in the Map has failed."""
        if visit and (visit.execution["status"] != "RUNNING" or (visit.cancelled and visit.cancelled.is_set)):
            raise Gone

    # Redrives.

    def may_be_redriven(self, detail: Document, label: str) -> None:
        """Let an operator redrive an execution that ended without success. detail: that of its event."""
        if detail["status"] == "SUCCEEDED":
            return
        place = f"end@{label}"
        self.counts[place] += 1
        if self.fault_at(f"{place}#{self.counts[place]}", [*s.END_KINDS], self.REDRIVE_WEIGHT):
            moment = self.later.choice((0.0, 0.0, 0.3, 5.0, self.late()))
            self.spawn(partial(self.redrive, detail["executionArn"]), moment, bare=True)

    def redrive(self, arn: str) -> None:
        status, *_ = redriving.redrive({"executionArn": arn})
        if status == 200:
            self.redriven.add(arn)

    def wait(self, seconds: float) -> None:
        """Wait for others in an invocation, whose knowledge of executions may be outdated afterwards."""
        if invocation := self.invocation:
            invocation.asked.clear()
        self.simulation.sleep(seconds)

    def cuts_off(self, execution: Document | None) -> bool:
        """Check whether the invocation that ends an execution's work could know that the execution runs.

        A redrive may come after its last question, and a write may land late.
        """
        if execution is None or execution["status"] != "RUNNING":
            return False
        arn = execution["executionArn"]
        if arn not in self.redriven:
            return True
        return self.invocation is not None and self.invocation.asked.get(arn, True)

    def _sent(self, service: str, send: Send, body: bytes) -> Any:
        answer = super()._sent(service, send, body)
        if (invocation := self.invocation) and invocation.operation == "DescribeExecution":
            arn = json.loads(body)["executionArn"]
            invocation.asked[arn] = stepfunctions._executions.get(arn, {}).get("status") == "RUNNING"
        return answer

    # Callbacks.

    def hand_out(self, token: str, document: Document, visit: Visit, **notes: Any) -> Document:
        """Call the function of a state that waits for this token. Returns the token's record; an answer sets its flag.

        If the function fails, the next attempt has another token.
        """
        answered = Flag(self.simulation)
        record = {"event": answered, "result": None, "error": None, **notes}
        stepfunctions._task_tokens[token] = record
        visit.execution.setdefault("tokens", []).append(token)
        try:
            function = stepfunctions._resolve_lambda_function_ref(document["FunctionName"], optimized=True)
            stepfunctions._call_lambda(function, document["Payload"])
        except stepfunctions._ExecutionError:
            if not answered.is_set:
                stepfunctions._task_tokens.pop(token, None)
                visit.context["Task"] = {"Token": self.new_token()}
                raise
        return record

    # Streams.

    def stream(self) -> None:
        """Deliver the records of all writes, each record separately."""
        for table, mappings in self.engine.mappings.items():
            records = dynamodb._stream_records.get(table)
            while records:
                record = records.pop(0)
                for mapping in mappings:
                    if mapping.takes(record):
                        self.spawn(partial(self.arrive, mapping, record), **self.notes_of(record))

    def notes_of(self, record: Document) -> dict[str, Any]:
        """Return the notes of the actor that delivers a record."""
        del record
        return {}

    def arrive(self, mapping: Mapping, record: Document) -> None:
        """Deliver a record, unless a fault hits it."""
        name = mapping.function.removesuffix("Function")
        self.counts[f"record:{name}"] += 1
        kind = self.fault_at(f"record:{name}#{self.counts[f'record:{name}']}", [*s.RECORD_KINDS], self.RECORD_WEIGHT)
        if kind == s.RECORD_LOST:
            return
        deliver = partial(self.deliver, mapping, record)
        if kind == s.RECORD_TWICE:
            self.spawn(deliver, self.later.choice((0, self.late())))
        self.simulation.sleep(self.late() if kind == s.RECORD_LATE else self.chance.uniform(0.05, 0.8))
        deliver()

    def deliver(self, mapping: Mapping, record: Document) -> None:
        """Process a record that has arrived, as the mapping does."""
        self.taken(mapping, [record])

    def taken(self, mapping: Mapping, records: list[Document]) -> bool:
        """Invoke the function for records until it accepts them. Returns False if the mapping gives up."""
        for number in range(mapping.tries):
            self._wait_for_capacity()
            answer = self.invoke(mapping.function, {"Records": records}, mapping.function.removesuffix("Function"))
            if not answer.get("error") and not answer["body"]["batchItemFailures"]:
                return True
            self.simulation.sleep(2**number)
        return False

    def _wait_for_capacity(self) -> None:
        """Wait while the account is throttled. For records and events, Lambda does not count this as an attempt."""
        if self.simulation.now < self.throttled_until:
            self.simulation.sleep(self.throttled_until - self.simulation.now)

    # Queues.

    def received(self, function: str, name: str, body: Document) -> bool:
        """Deliver a message until its function has handled it; False if it ends in the dead-letter queue.

        A delivery counts if it is throttled until the visibility timeout.
        """
        event = {"Records": [{"messageId": "m-1", "body": json.dumps(body)}]}
        queue, ran = queue_of(function), 0
        for _ in range(queue["RedrivePolicy"]["maxReceiveCount"]):
            ran += self.simulation.now >= self.throttled_until
            answer = self.invoke(function, event, name)
            if not answer.get("error") and not answer["body"]["batchItemFailures"]:
                return True
            self.simulation.sleep(queue["VisibilityTimeout"])
        if ran < _TRIES:
            self.tally.broken(TRIED, f"{name}: {ran} times")
        return False

    # Events.

    def tell(self, name: str, label: str, event: Document, **notes: Any) -> None:
        """Deliver a status event to the matching rules. name: names the invocations. label: names the execution."""
        for rule in self.engine.rules:
            if self.engine.matches(rule, event):
                deliver = partial(self._delivered, f"{name}@{label}", rule, rule.delivered(as_delivered(event)))
                self.events.append(deliver)
                self.spawn(partial(self._event, label, deliver), **notes)

    def _event(self, label: str, deliver: Callable[[], object]) -> None:
        kind = self.fault_at(f"event@{label}", [*s.EVENT_KINDS], 8)
        if kind == s.EVENT_LOST:
            return
        for _ in range(2 if kind == s.EVENT_THRICE else 0):
            self.spawn(deliver, self.late())
        self.simulation.sleep(self.late() if kind == s.EVENT_LATE else self.chance.uniform(0.1, 1))
        deliver()

    def _delivered(self, name: str, rule: Any, event: Document) -> None:
        for number in range(1 + rule.retries):
            self._wait_for_capacity()
            if not self.invoke(rule.function, event, name).get("error"):
                return
            self.simulation.sleep(60 * (number + 1))


def queue_of(function: str) -> Document:
    """Return the properties of the queue that invokes a function."""
    (queue,) = [
        event["Properties"]["Queue"]
        for event in FUNCTIONS[function].properties["Events"].values()
        if event["Type"] == "SQS"
    ]
    return of_type("AWS::SQS::Queue")[str(arn_of(queue))]


def branch_context(context: Document) -> Document:
    """Return the context of a state in a Map or a branch, which shares no variable with the others."""
    return {**copied({name: value for name, value in context.items() if name != "variables"}), "variables": {}}
