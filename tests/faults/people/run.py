"""One run of a schedule: applicants, reviewers, operators, sweeps, streams and events."""

import json
from collections import defaultdict
from dataclasses import dataclass, field
from functools import partial

from ministack.services import s3, stepfunctions

import accounts.bank
from accounts.people import uniqueness_keys
from accounts.state import Application
from tests.faults.invocation import Invocation
from tests.faults.people import schedule as s
from tests.faults.people.invariants import ANSWERS, OUTCOME
from tests.faults.people.plan import APPROVE, REJECT
from tests.faults.people.reviewing import TRIES, Reviewing
from tests.faults.seams import Document
from tests.kit.template import FUNCTIONS

_BARS = accounts.bank._bars


@dataclass
class Run(Reviewing):
    """A run; hooks of the engine at each seam. passed: functions and events of machines.

    swept: when successful sweeps began.
    """

    passed: list[tuple[str, Document]] = field(default_factory=list)
    sweepless_until: float = 0.0
    months_passed: bool = False
    meddled: bool = False
    swept: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))

    # Requests

    def submit(self, request: Document) -> None:
        """Call SubmitApplication until its response is final."""
        name = f"Submit@{self.plan.label(request['application_id'])}"
        for number in range(TRIES):
            answer = self.invoke("SubmitApplicationFunction", request, name)
            if not answer.get("error"):
                self.judge.submitted(request, answer["body"])
                return
            error = answer["body"]["errorType"]
            if error == "PayloadMismatch":
                self.judge.mismatched(request)
                return
            if error == "InvalidApplication" and self.judge.barred(request):
                return
            if error == "InvalidApplication" or not self.disturbed:
                self.judge.broken(ANSWERS, f"{name}: {error}: {answer['body']['errorMessage']}")
                return
            self.simulation.sleep(self.chance.uniform(1, 30) * (number + 1))

    def put_document(self, key: str, content: bytes) -> None:
        """Store a version of an applicant's document."""
        s3._put_object(self.engine.bucket, key, content, {})

    def bars(self, application: Application) -> tuple[str, ...]:
        """Return the keys that bar a second customer, in the release that runs at this moment."""
        if self.simulation.now < self.plan.older.get(application.application_id, 0):
            self.say(f"the release before runs for {application.application_id}")
            return uniqueness_keys(application.name, application.date_of_birth)[1:2]
        return _BARS(application)

    # Others.

    def operate(self) -> None:
        """Recover, as an operator, what stands after its recovery ended, or after a manual setup."""
        for own_id, row in self.judge.applications.items():
            names = [own_id, *(f"{own_id}-{number}" for number in range(2, 9))]
            found = [self.engine.execution(name, self.engine.RECOVERY) for name in names]
            orphan = self.meddled and "unsettled" in row and not self.engine.execution(own_id, self.engine.SETUP)
            busy = any(one["status"] == "RUNNING" for one in self.engine.executions())
            if ((found[0] and "standing" in row) or orphan) and None in found and not busy:
                self._start(self.engine.RECOVERY, names[found.index(None)], own_id)

    def second(self) -> None:
        """Start a machine by hand."""
        self.meddled = True
        own_id = self.later.choice(self.plan.applications).request["application_id"]
        self.counts["second"] += 1
        machine = self.later.choice((self.engine.SETUP, self.engine.RECOVERY))
        self._start(machine, f"{own_id}-by-hand-{self.counts['second']}", own_id)

    def _start(self, machine: str, name: str, own_id: str) -> None:
        self.say(f"somebody starts {machine} {name}")
        document = json.dumps({"application": {"id": own_id}})
        arn = self.engine.stack.arn(machine)
        stepfunctions._start_execution({"stateMachineArn": arn, "name": name, "input": document})

    def sweep(self) -> None:
        """Run all sweeps, as on their schedules."""
        if self.simulation.now < self.sweepless_until:
            return
        for name in SWEEPS:
            self.spawn(partial(self._swept, name))

    def _swept(self, function: str) -> None:
        began, name = self.simulation.now, function.removesuffix("Function")
        if not self.invoke(function, {"source": "aws.events"}, name).get("error"):
            self.swept[name].append(began)

    def run_invocation(self, invocation: Invocation) -> Document:
        answer = super().run_invocation(invocation)
        if answer.get("error") and answer["body"]["errorType"] == "UnexpectedFailure" and not self.disturbed:
            self.judge.broken(OUTCOME, f"{invocation.id}: {answer['body']['errorMessage']}")
        return answer

    def meanwhile(self, kind: str) -> None:
        works = {
            s.DECIDED_AT: self._both_ways,
            s.SWEEPS_AT: self.sweep,
            s.STRAY_AT: self.stray,
            s.SECOND_AT: self.second,
        }
        if work := works.get(kind):
            self.spawn(work, bare=True)

    def _both_ways(self) -> None:
        for approval_id in list(self.judge.approvals):
            for by, decision in (("one", APPROVE), ("another", self.later.choice((APPROVE, REJECT)))):
                work = partial(self.decide, approval_id, decision, by)
                self.spawn(work, self.later.choice((0.0, 0.01)), bare=True)

    def stray(self) -> None:
        """Call a function of a machine again, at any time: a step, a compensation, a request to review."""
        if self.passed:
            function, event = self.later.choice(self.passed)
            self.run_invocation(Invocation(f"stray.{function}", function, json.dumps(event)))

    def invoke_in_machine(self, function: str, event: Document) -> Document:
        self.passed.append((function, event))
        return super().invoke_in_machine(function, event)

    def published(self, topic: str, message: str) -> None:
        del topic
        self.judge.published(message)

    # Streams and events.

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """Judge a written row; its transaction may still be running."""
        table = table.removeprefix(self.engine.stack.prefix)
        self.judge.wrote(table, old, new)
        self.refused(table)
        self.independent(table, new or old or {})

    def carried_out(self, *_: object) -> None:
        self.judge.moment()
        self.stream()

    def status_changed(self, event: Document) -> None:
        detail = json.loads(event["Detail"])
        if detail["status"] == "RUNNING":
            return
        machine, name = detail["stateMachineArn"].rpartition(":")[2], detail["name"]
        label = f"{machine}.{self.plan.label(name)}"
        self.say(f"execution {label} {detail['status']} {detail['error'] or ''}".rstrip())
        self.flag(detail["executionArn"]).set()
        self.judge.ended(detail)
        self.may_be_redriven(detail, label)
        self.tell(f"{machine}Ended", label, event)


SWEEPS = [
    name
    for name, one in FUNCTIONS.items()
    if any(event["Type"].startswith("Schedule") for event in one.properties.get("Events", {}).values())
    and one.module.partition(".")[0] in {"accounts", "approvals"}
]
