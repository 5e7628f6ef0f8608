"""One run of a schedule: callers, the queue, operators, the sweep, the stream and events."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

from tests.faults.invocation import Invocation
from tests.faults.seams import Document
from tests.faults.tasks import schedule as s
from tests.faults.tasks.executing import Executing
from tests.faults.tasks.invariants import ANSWERS
from tests.faults.tasks.judge import ENDED, execution
from tests.faults.tasks.plan import TASK, TENANT

_OF_MACHINE = ("StartTask", "RunTaskItem", "FinishTask")
_TRIES = 4


@dataclass
class Run(Executing):
    """A run; hooks of the engine at each seam.

    asked: items of calls, by task id; "" for calls without an id.
    refused: refused calls. retrying: calls of RetryTask that have no response yet.
    """

    asked: dict[str, list[list[Document]]] = field(default_factory=lambda: defaultdict(list))
    refused: int = 0
    retrying: int = 0

    # Requests

    def create(self, request: Document) -> None:
        """Call CreateTask until its response is final."""
        self.asked[request.get("task_id", "")].append(request["items"])
        name = "CreateTask" if request is not self.plan.other else "CreateOther"
        answer = self._until_final("CreateTaskFunction", request, name)
        if answer.get("error"):
            self._refused(answer, {"PayloadMismatch"} if self.plan.other else set())
        elif answer["body"]["items"] != len(request["items"]) or answer["body"]["status"] != "CREATED":
            self.judge.broken(ANSWERS, f"{name}: {answer['body']}")
        elif answer["body"]["task_id"] not in self.judge.tasks:
            self.judge.broken(ANSWERS, f"{name}: {answer['body']}, and there is no such task")

    def retry(self, task_id: str, attempt: int | None = None) -> None:
        """Call RetryTask, as an operator. attempt: whose failures were seen."""
        seen = {"attempt": attempt} if attempt else {}
        request = {"tenant_code": TENANT, "task_id": task_id, **seen}
        self.retrying += 1
        answer = self._until_final("RetryTaskFunction", request, f"RetryTask@{self.label(task_id)}")
        self.retrying -= 1
        if answer.get("error"):
            self._refused(answer, {"InvalidTask"})
        elif attempt and answer["body"]["attempt"] != attempt + 1:
            self.judge.broken(ANSWERS, f"a retry of attempt {attempt} is {answer['body']}")

    def _until_final(self, function: str, request: Document, name: str) -> Document:
        for number in range(_TRIES):
            answer = self.invoke(function, request, name)
            if not answer.get("error") or answer["body"]["errorType"] in {"InvalidTask", "PayloadMismatch"}:
                return answer
            self.simulation.sleep(self.chance.uniform(1, 30) * (number + 1))
        return {"error": True, "body": {"errorType": ""}}

    def _refused(self, answer: Document, allowed: set[str]) -> None:
        error = answer["body"]["errorType"]
        self.refused += 1
        if (error or not self.disturbed) and error not in allowed:
            self.judge.broken(ANSWERS, f"{error}: {answer['body']['errorMessage']}")

    def failed(self) -> list[str]:
        """Return the tasks that an operator may retry."""
        return [
            one
            for one, row in self.judge.tasks.items()
            if row["status"] in ENDED - {"COMPLETED"} and one not in self.judge.gone
        ]

    # Others.

    def sweep(self) -> None:
        self.invoke("SweepTasksFunction", {"source": "aws.events"}, "SweepTasks")

    def meanwhile(self, kind: str) -> None:
        works = {s.RETRY_AT: self._retry_any, s.SWEEP_AT: self.sweep, s.STRAY_AT: self.stray}
        if work := works.get(kind):
            self.spawn(work, bare=True)

    def _any_task(self) -> str:
        return self.later.choice(list(self.judge.tasks) or [TASK])

    def _retry_any(self) -> None:
        self.retry(self._any_task())

    def stray(self) -> None:
        """Call any function of the machine, for any attempt and item, under the right name or another."""
        task_id, attempt = self._any_task(), self.later.randint(1, 3)
        own = {"tenant_code": TENANT, "task_id": task_id, "attempt": attempt}
        name = self.later.choice((execution(task_id, attempt), execution(task_id, 1), "other"))
        function = self.later.choice(_OF_MACHINE)
        more: dict[str, Document] = {
            "RunTaskItem": {"number": self.later.randint(1, 5)},
            "FinishTask": {"outcomes": []},
        }
        event = {**own, "execution": name, **more.get(function, {})}
        self.run_invocation(Invocation(f"stray.{function}", f"{function}Function", json.dumps(event)))

    # Alarms.

    def published(self, topic: str, message: str) -> None:
        if topic == "AlertsTopic":
            self.judge.alarmed(message)

    # The stream, and events.

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """Judge a written row; its transaction may still be running."""
        self.judge.wrote(table.removeprefix(self.engine.stack.prefix), old, new)

    def carried_out(self, *_: object) -> None:
        self.judge.moment()
        self.stream()

    def status_changed(self, event: Document) -> None:
        detail = json.loads(event["Detail"])
        if detail["status"] == "RUNNING":
            return
        own = json.loads(detail["input"])
        label = f"{self.label(own['task_id'])}.{own['attempt']}"
        self.say(f"execution {label} {detail['status']} {detail['error'] or ''}".rstrip())
        self.may_be_redriven(detail, label)
        self.tell("TaskEnded", label, event)

    # The queue.

    def message(self, body: Document) -> None:
        """Deliver a message until it is handled, or goes to the dead-letter queue."""
        self.asked[body["task_id"]].append([body["item"]])
        deliver = partial(self._comes, body)
        kind = self.fault_at("message#1", [*s.MESSAGE_KINDS], 12)
        if kind == s.MESSAGE_TWICE:
            self.spawn(deliver, self.later.choice((0, self.late())))
        if kind == s.MESSAGE_REDRIVEN:
            self._killed(body)
            self.simulation.sleep(self.later.uniform(0, 3) * 3600)
        deliver()

    def _killed(self, body: Document) -> None:
        """Begin with the message, and be killed at any call."""
        event = {"Records": [{"messageId": "m-1", "body": json.dumps(body)}]}
        invocation = Invocation("TaskAction#0", "TaskActionFunction", json.dumps(event))
        self.spawn(partial(setattr, invocation, "dead", True), self.later.uniform(0, 0.3))
        self.run_invocation(invocation)

    def _comes(self, body: Document) -> None:
        if self.received("TaskActionFunction", "TaskAction", body):
            self.judge.handled(body["task_id"])
