"""One run of a schedule: what happens at each point, and in which order."""

import copy
import json
import re
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from botocore.exceptions import EndpointConnectionError, ReadTimeoutError
from ministack.services import dynamodb, stepfunctions

from tests.faults import faults as f
from tests.faults.commands import schedule as s
from tests.faults.commands.engine import Engine, Mapping
from tests.faults.commands.judge import Judge
from tests.faults.commands.schedule import PK, SK, Faults, Focus, Publication, Schedule
from tests.faults.commands.simulation import Flag, Gone, Simulation
from tests.faults.engine import execution_error
from tests.faults.invocation import CONFLICT, THROTTLED, Died, Invocation, as_delivered, failure, handled, outcome
from tests.faults.seams import Document, Send

KEY = {"pk": PK, "sk": SK}
_WRITES = {"TransactWriteItems", "UpdateItem", "PutItem", "PutObject"}
_ENDS = {
    **dict.fromkeys((f.ABORTED_BEFORE, f.ABORTED_AFTER, s.ABORTED_AT), "ABORTED"),
    **dict.fromkeys((f.EXECUTION_TIMED_OUT_BEFORE, f.EXECUTION_TIMED_OUT_AFTER, s.EXECUTION_TIMED_OUT_AT), "TIMED_OUT"),
}
_BEFORE = {f.ABORTED_BEFORE, f.EXECUTION_TIMED_OUT_BEFORE, f.RUNTIME_ERROR_BEFORE}
_SLOW_DOWN = b"<Error><Code>SlowDown</Code><Message>slow down</Message></Error>"
# What lets a successor go, or lists a dead version: a fault in it may cost the five minutes of a sweep.
_WAKING = re.compile(r"^(record|event|check_version|wait_prev|Start|Wake|CommandEnded|Retry|Skip|Sweep|stray)")


@dataclass(frozen=True)
class Visit:
    """One stay in a Task state of an execution. item: the target, in the Map."""

    place: str
    execution: Document
    context: Document
    cancelled: Flag | None = None


@dataclass
class Run:
    """Asked by the engine at each seam. disturbed: whether a fault may cost the five minutes of a sweep."""

    engine: Engine
    schedule: Schedule
    focus: Focus | None = None
    simulation: Simulation = field(default_factory=Simulation)
    trace: list[str] = field(default_factory=list)
    notices: list[str] = field(default_factory=list)
    undelivered: list[tuple[Mapping, Document]] = field(default_factory=list)
    published: dict[int, int] = field(default_factory=dict)
    disturbed: bool = False
    sweep_faults: int = 0
    excess: float = 0.0
    swept: Document | None = None
    _counts: Counter[str] = field(default_factory=Counter)

    def __post_init__(self) -> None:
        self.chance = self.schedule.chance("order")
        self.later = self.schedule.chance("later")
        self.faults = Faults(self.schedule, self.focus)
        self.judge = Judge(self)

    def say(self, line: str) -> None:
        self.trace.append(f"{self.simulation.now:8.2f} {line}")

    def fault_at(self, place: str, kinds: Sequence[str], weight: float = 1) -> str:
        """The kind of fault that hits here; empty for none."""
        current = self.simulation.current
        if current is None or current.notes.get("bare"):
            return ""
        kind = self.faults.at(place, kinds, weight)
        if kind:
            self.say(f"FAULT {kind} {place}")
            self.disturbed |= bool(_WAKING.match(place)) and kind != s.SLOW
            self.sweep_faults += place.startswith("Sweep")
        return kind

    def spawn(self, work: Callable[[], object], delay: float = 0, **notes: Any) -> None:
        self.simulation.spawn(work, delay, **{"visit": None, "invocation": None, "bare": False, **notes})

    def _late(self) -> float:
        """Seconds: usually minutes."""
        return self.later.choice((self.later.uniform(0.1, 6), self.later.uniform(6, 900)))

    # Publishers, operators, the sweep.

    def publish_version(self, publication: Publication) -> None:
        """Publish until it has an answer that is final."""
        name = f"PublishCommand@{publication.version or 'next'}"
        for number in range(200):
            answer = self.invoke("PublishCommandFunction", publication.document, name)
            if not answer.get("error"):
                version = answer["body"]["version"]
                self.published[version] = self.published.get(version, 0) + 1
                return
            error = answer["body"]["errorType"]
            if error in {"VersionConflict", "InvalidCommand", "AttributesTooLarge"}:
                if not (error == "InvalidCommand" and publication.document["mode"] == "sync"):
                    self.judge.refused(publication, answer["body"])
                    return
                # What stands cannot be merged with it. Another version may be published in its stead.
                publication = Publication(
                    publication.version, 0, {**publication.document, "merge": False, **_REPLACEMENT}
                )
            self.simulation.sleep(min(0.2 * 2 ** min(number, 9), 60) * self.chance.uniform(0.5, 1))
        self.judge.unanswered(name)

    def operate(self, function: str, *, bare: bool = False) -> str:
        """An operator retries or skips. Returns the error, if any."""
        order = {**KEY, "reason": "because", "by": "operator"}
        if bare and self.simulation.current:
            self.simulation.current.notes["bare"] = True
        answer = self.invoke(function, order, function.removesuffix("Function"))
        return str(answer["body"]["errorType"]) if answer.get("error") else ""

    def sweep(self) -> None:
        """The schedule of the sweep: an asynchronous invocation."""
        self.swept = None
        for pause in (60, 120, 0):
            answer = self.invoke("SweepCommandsFunction", {"source": "aws.events"}, "SweepCommands")
            if not answer.get("error"):
                self.swept = answer["body"]
                return
            self.simulation.sleep(pause)

    def rebuild(self) -> None:
        """As an operator rebuilds the targets of a key, from its data row."""
        from commands.target_handlers import targets
        from entities.document import document_of

        gate, data = self.judge.gate, self.judge.data
        if gate is None or data is None:
            return
        for name, target in targets().items():
            self.judge.rebuilding = True
            target.write(document_of(data), skipped=self.judge.finished)
            self.say(f"rebuilt {name}")

    def when_dead(self) -> None:
        """An operator may come at once."""
        for function in self.chance.choice(((), (), ("Retry",), ("Skip",), ("Retry", "Skip"))):
            self.spawn(partial(self.operate, f"{function}CommandFunction"), self.chance.uniform(0, 3))

    # Invocations and their calls.

    def invoke(self, function: str, event: Any, name: str) -> Document:
        """Invoke a function as Lambda does it."""
        self._counts[name] += 1
        invocation = Invocation(f"{name}#{self._counts[name]}", function, json.dumps(event))
        kind = self.fault_at(invocation.id, [*s.INVOCATION_KINDS], 1.2)
        if kind in {f.LATE, f.ABANDONED}:
            # Most functions have few calls.
            invocation.holds_at = min(self.later.randint(1, 6), self.later.randint(1, 6), self.later.randint(1, 6))
            self.spawn(partial(self._run, invocation), visit=self._visit, late=self._late())
            return self._timed_out(invocation) if kind == f.LATE else failure("RuntimeError")
        if kind == f.ERROR_BEFORE:
            return failure("RuntimeError")
        if kind == f.TIMED_OUT_BEFORE:
            return self._timed_out(invocation)
        if kind == f.AGAIN:
            again = Invocation(f"{invocation.id}'", function, invocation.event)
            self.spawn(partial(self._run, again), self._late(), bare=True)
        answer = self._run(invocation)
        if kind == f.ERROR_AFTER:
            return failure("RuntimeError")
        return self._timed_out(invocation) if kind == f.TIMED_OUT_AFTER else answer

    def _timed_out(self, invocation: Invocation) -> Document:
        self.excess += invocation.timeout
        self.simulation.sleep(invocation.timeout)
        return failure("Sandbox.Timedout")

    def _run(self, invocation: Invocation) -> Document:
        actor = self.simulation.current
        assert actor is not None
        before, actor.notes["invocation"] = actor.notes.get("invocation"), invocation
        try:
            answer = handled(self.engine.handlers[invocation.function], invocation)
        finally:
            actor.notes["invocation"] = before
        self.judge.outcomes[invocation.function, outcome(answer)] += 1
        self.say(f"{invocation.id}: {outcome(answer)}{_reason(answer)}")
        return answer

    def call(self, operation: str) -> None:
        """A call is about to be made: the others act first."""
        actor = self.simulation.current
        invocation: Invocation | None = actor.notes.get("invocation") if actor else None
        if actor is None or invocation is None:
            return
        if invocation.dead:
            raise Died
        invocation.calls += 1
        invocation.operation = operation.rpartition(".")[2]
        self.simulation.sleep(self.chance.choice((0.004, 0.01, 0.02, 0.02, 0.15)) * self.chance.uniform(0.5, 1))
        if invocation.holds_at == invocation.calls:
            self.say(f"{invocation.id} hangs before call {invocation.calls}")
            self.simulation.sleep(actor.notes["late"])
            self.say(f"{invocation.id} goes on")
        place = f"{invocation.id}.call{invocation.calls}"
        self.judge.calls[invocation.function, invocation.operation] += 1
        actor.notes["fault"] = kind = self.fault_at(place, self._call_kinds(invocation))
        if kind:
            self.judge.hits[invocation.function, invocation.operation, kind] += 1
        self._meanwhile(kind, invocation)

    def _call_kinds(self, invocation: Invocation) -> list[str]:
        return [
            *s.CALL_KINDS,
            *(s.WRITE_KINDS if invocation.operation in _WRITES else ()),
            *(s.TRANSACTION_KINDS if invocation.operation == "TransactWriteItems" else ()),
            *(s.MACHINE_CALL_KINDS if self._visit else ()),
        ]

    def _meanwhile(self, kind: str, invocation: Invocation) -> None:
        """What somebody else does."""
        match kind:
            case s.SLOW:
                seconds = self.later.uniform(0.5, 8)
                self.excess += seconds
                self.simulation.sleep(seconds)
            case f.DUPLICATE_AT:
                duplicate = Invocation(f"{invocation.id}'", invocation.function, invocation.event)
                self.spawn(partial(self._run, duplicate), self.later.uniform(0, 0.05), bare=True)
            case s.STRAY_AT:
                self.spawn(self._stray, bare=True)
            case s.RETRY_AT | s.SKIP_AT:
                function = "RetryCommandFunction" if kind == s.RETRY_AT else "SkipCommandFunction"
                self.spawn(partial(self.operate, function, bare=True))
            case s.REBUILD_AT:
                self.spawn(self.rebuild, bare=True)
            case s.ABORTED_AT | s.EXECUTION_TIMED_OUT_AT if self._visit:
                self.engine.stop(self._visit.execution, _ENDS[kind])

    def request(self, service: str, send: Send, body: bytes) -> Any:
        """Send a request, or do with it what the fault says."""
        actor = self.simulation.current
        invocation: Invocation | None = actor.notes.get("invocation") if actor else None
        if actor is None or invocation is None:
            return self._sent(service, send, body)
        try:
            return self._sent_with_fault(actor.notes.get("fault", ""), actor.notes, service, send, body)
        except Died:
            invocation.dead = True
            raise

    def _sent_with_fault(self, kind: str, notes: Document, service: str, send: Send, body: bytes) -> Any:
        match kind:
            case f.DIES_BEFORE:
                raise Died
            case f.DIES_AFTER:
                self._sent(service, send, body)
                raise Died
            case f.UNREACHABLE:
                raise EndpointConnectionError(endpoint_url="in-process")
            case f.THROTTLED:
                return (503, {}, _SLOW_DOWN) if service == "s3" else (400, {}, THROTTLED.encode())
            case f.CONFLICT:
                return 400, {}, CONFLICT.encode()
            case f.ANSWER_LOST | f.ANSWER_LOST_ONCE:
                if kind == f.ANSWER_LOST_ONCE:
                    notes["fault"] = ""
                self._sent(service, send, body)
                raise ReadTimeoutError(endpoint_url="in-process")
            case s.HELD:
                notes["fault"] = ""
                self.spawn(partial(self._sent, service, send, body), self._late())
                raise ReadTimeoutError(endpoint_url="in-process")
        return self._sent(service, send, body)

    def _sent(self, service: str, send: Send, body: bytes) -> Any:
        answer = send()
        if service == "s3" and body:
            self.judge.stored(body, answer[0])
        self.judge.moment()
        self._stream()
        return answer

    def _stray(self) -> None:
        """Somebody calls any function, with any version and attempt, under the right name or another."""
        version, attempt = self.later.randint(1, 4), self.later.randint(1, 2)
        name = self.judge.name(version, self.later.choice((attempt, attempt, 1)))
        task = {**KEY, "version": version, "attempt": attempt, "execution": self.later.choice((name, name, "other"))}
        function, event = self.later.choice(
            [
                *((f"{one}Function", task) for one in _OF_MACHINE),
                ("WaitPrevCommandFunction", {**task, "token": "stray-token"}),
                *(("SyncDataFunction", {**task, "target": target}) for target in ("products", "catalog")),
                ("SweepCommandsFunction", {}),
                *(("PublishCommandFunction", one.document) for one in s.plan(self.schedule)[:1]),
            ]
        )
        self.say(f"stray call of {function} {version}.{attempt} as {task['execution'][-8:]}")
        self._run(Invocation(f"stray.{function}", function, json.dumps(event)))

    # Streams and events.

    def _stream(self) -> None:
        for table, mappings in self.engine.mappings.items():
            records = dynamodb._stream_records.get(table)
            while records:
                record = records.pop(0)
                for mapping in mappings:
                    if mapping.takes(record):
                        self.spawn(partial(self._record, mapping, record))

    def _record(self, mapping: Mapping, record: Document) -> None:
        name = mapping.function.removesuffix("Function")
        self._counts[f"record:{name}"] += 1
        kind = self.fault_at(f"record:{name}#{self._counts[f'record:{name}']}", [*s.RECORD_KINDS], 4)
        if kind == s.RECORD_LOST:
            self.undelivered.append((mapping, record))
            return
        if kind == s.RECORD_TWICE:
            self.spawn(partial(self.deliver, mapping, record), self._late())
        self.simulation.sleep(self._late() if kind == s.RECORD_LATE else self.chance.uniform(0.05, 0.8))
        self.deliver(mapping, record)

    def deliver(self, mapping: Mapping, record: Document) -> None:
        """Invoke the function for a record until it has taken it, or the mapping gives up."""
        for number in range(mapping.tries):
            answer = self.invoke(mapping.function, {"Records": [record]}, mapping.function.removesuffix("Function"))
            if not answer.get("error") and not answer["body"]["batchItemFailures"]:
                return
            self.simulation.sleep(2**number)
        self.undelivered.append((mapping, record))

    def status_changed(self, event: Document) -> None:
        detail = json.loads(event["Detail"])
        if detail["status"] == "RUNNING":
            return
        own = json.loads(detail["input"])
        place = f"{own['version']}.{own['attempt']}"
        self.say(f"execution {place} {detail['status']} {detail['error'] or ''}".rstrip())
        self.judge.ended(own["version"], own["attempt"], detail["status"], detail["error"] or "")
        for rule in self.engine.rules:
            if self.engine.matches(rule, event):
                self.spawn(partial(self._event, place, rule, rule.delivered(as_delivered(event))))

    def _event(self, place: str, rule: Any, event: Document) -> None:
        kind = self.fault_at(f"event@{place}", [*s.EVENT_KINDS], 8)
        if kind == s.EVENT_LOST:
            return
        for _ in range(2 if kind == s.EVENT_THRICE else 0):
            self.spawn(partial(self._delivered, place, rule, event), self._late())
        self.simulation.sleep(self._late() if kind == s.EVENT_LATE else self.chance.uniform(0.1, 1))
        self._delivered(place, rule, event)

    def _delivered(self, place: str, rule: Any, event: Document) -> None:
        for number in range(1 + rule.retries):
            if not self.invoke(rule.function, event, f"CommandEnded@{place}").get("error"):
                return
            self.simulation.sleep(60 * (number + 1))

    # The machine.

    @property
    def _visit(self) -> Visit | None:
        current = self.simulation.current
        return current.notes.get("visit") if current else None

    def started(self, run: Callable[[], None]) -> None:
        self.spawn(run, self.chance.uniform(0.02, 0.2))

    def new_token(self) -> str:
        self._counts["token"] += 1
        return f"token-{self._counts['token']:04}"

    def task(self, execution: Document, context: Document, run: Callable[[], Any]) -> Any:
        """A Task state, with what may end its execution before it and after it."""
        actor = self.simulation.current
        assert actor is not None
        own = context["Execution"]["Input"]
        state = context["State"]["Name"]
        item = f":{context['Map']['Item']['Value']}" if "Map" in context else ""
        place = f"{state}{item}@{own['version']}.{own['attempt']}"
        outer: Visit | None = actor.notes.get("visit")
        visit = actor.notes["visit"] = Visit(place, execution, context, outer.cancelled if outer else None)
        self._go_on(visit)
        self.judge.entered(state, own["version"])
        kind = self.fault_at(place, self._state_kinds(state, item), 4)
        actor.notes["waits"] = self._late() if kind == s.TIMED_OUT_WAITING else None
        self._end(visit, kind if kind in _BEFORE else "")
        try:
            answer = run()
        except stepfunctions._ExecutionError:
            self._go_on(visit)
            raise
        self._end(visit, "" if kind in _BEFORE else kind)
        return answer

    def _state_kinds(self, state: str, item: str) -> list[str]:
        if item:
            return [kind for kind in f.STATE_KINDS if kind in _ENDS]
        return [*f.STATE_KINDS, *(s.WAIT_KINDS if state == "wait_prev_command" else ())]

    def _end(self, visit: Visit, kind: str) -> None:
        if kind in _ENDS:
            self.engine.stop(visit.execution, _ENDS[kind])
        self._go_on(visit)
        if kind in {f.RUNTIME_ERROR_BEFORE, f.RUNTIME_ERROR_AFTER}:
            raise execution_error("States.Runtime", "a path that is not there")

    def _go_on(self, visit: Visit | None) -> None:
        """Unless the execution has ended, or a sibling in the Map has failed."""
        if visit and (visit.execution["status"] != "RUNNING" or (visit.cancelled and visit.cancelled.is_set)):
            raise Gone

    def back_off(self, seconds: float) -> None:
        """The machine's pause before a retry."""
        self.excess += seconds
        self.simulation.sleep(seconds)
        self._go_on(self._visit)

    def invoke_in_machine(self, function: str, event: Document) -> Document:
        visit = self._visit
        assert visit is not None
        answer = self.invoke(function, event, visit.place)
        self._go_on(visit)
        return answer

    def callback(self, _: str, document: Document, token: str, __: Document) -> Any:
        """waitForTaskToken: each attempt has a token of its own, and fails with the function."""
        visit, actor = self._visit, self.simulation.current
        assert visit is not None
        assert actor is not None
        answered = Flag(self.simulation)
        stepfunctions._task_tokens[token] = {"event": answered, "result": None, "error": None}
        visit.execution.setdefault("tokens", []).append(token)
        try:
            stepfunctions._call_lambda(
                stepfunctions._resolve_lambda_function_ref(document["FunctionName"], optimized=True),
                document["Payload"],
            )
        except stepfunctions._ExecutionError:
            if not answered.is_set:
                del stepfunctions._task_tokens[token]
                visit.context["Task"] = {"Token": self.new_token()}
                raise
        waited = answered.wait(actor.notes["waits"])
        self._go_on(visit)
        del stepfunctions._task_tokens[token]
        if not waited:
            raise execution_error("States.Timeout", "nobody answered")
        return {}

    def items(self, state: Document, document: Any, execution: Document, context: Document) -> Any:
        """An inline Map: its branches at once. When one fails the others are cut off, and their functions go on."""
        effective = stepfunctions._apply_input_path(state, document, context)
        values = stepfunctions._resolve_path_or_ctx(state["ItemsPath"], effective, context)
        done, cancelled = Flag(self.simulation), Flag(self.simulation)
        results: dict[int, Any] = {}
        failures: list[Exception] = []

        def branch(index: int, value: Any) -> None:
            inner = {**copy.deepcopy(context), "Map": {"Item": {"Index": index, "Value": value}}}
            given = stepfunctions._resolve_params_obj(state["ItemSelector"], effective, inner)
            processor = state["ItemProcessor"]
            try:
                results[index] = stepfunctions._run_sub_machine(
                    processor["States"], processor["StartAt"], given, execution, inner
                )
            except stepfunctions._ExecutionError as error:
                failures.append(error)
                cancelled.set()
            finally:
                if failures or len(results) == len(values) or execution["status"] != "RUNNING":
                    done.set()

        visit = Visit("sync_data_all", execution, context, cancelled)
        for index, value in enumerate(values):
            self.spawn(partial(branch, index, value), visit=visit)
        if values:
            done.wait()
        if execution["status"] != "RUNNING":
            raise Gone
        if failures:
            raise failures[0]
        output = stepfunctions._apply_result_path(state, document, [results[index] for index in range(len(values))])
        return output, stepfunctions._next_or_end(state)

    def publish(self, message: Any) -> bool:
        visit = self._visit
        assert visit is not None
        self._counts[visit.place] += 1
        self.simulation.sleep(0.02)
        self._go_on(visit)
        failed = bool(self.fault_at(f"{visit.place}#{self._counts[visit.place]}", [*s.PUBLISH_KINDS], 4))
        if not failed:
            self.notices.append(json.dumps(message))
        return not failed


_OF_MACHINE = ("CheckVersion", "SetTtlCommand", "HistoryCopy", "TransformData", "FinishCommand", "FinishCommand")
_REPLACEMENT = {"attributes": {"category": "tea", "price": 1, "currency": "JPY"}}


def _reason(answer: Document) -> str:
    return f" ({answer['body']['errorMessage'][:90]})" if answer.get("error") else ""
