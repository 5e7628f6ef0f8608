"""One run of a schedule: publishers, operators, the sweep, streams and events."""

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from ministack.services import dynamodb

from tests.faults.commands import schedule as s
from tests.faults.commands.engine import Mapping
from tests.faults.commands.executing import Executing
from tests.faults.commands.invariants import ANSWERS
from tests.faults.commands.schedule import PK, SK, Publication
from tests.faults.invocation import Invocation, as_delivered
from tests.faults.seams import Document

KEY = {"pk": PK, "sk": SK}
_OF_MACHINE = ("CheckVersion", "SetTtlCommand", "HistoryCopy", "TransformData", "FinishCommand", "FinishCommand")
_REPLACEMENT = {"attributes": {"category": "tea", "price": 1, "currency": "JPY"}}


@dataclass
class Run(Executing):
    """Asked by the engine at each seam."""

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
                    self.judge.broken(ANSWERS, f"{name} was refused: {answer['body']['errorMessage']}")
                    return
                # What stands cannot be merged with it. Another version may be published in its stead.
                publication = Publication(
                    publication.version, 0, {**publication.document, "merge": False, **_REPLACEMENT}
                )
            self.simulation.sleep(min(0.3 * 3 ** min(number, 9), 120) * self.chance.uniform(0.5, 1))
        self.judge.broken(ANSWERS, f"{name} gets no answer that is final")

    def operate(self, function: str) -> None:
        """An operator retries or skips."""
        order = {**KEY, "reason": "because", "by": "operator"}
        self.invoke(function, order, function.removesuffix("Function"))

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
        document, skipped = document_of(data), self.judge.finished
        assert self.simulation.current is not None
        self.simulation.current.notes["rebuilding"] = True
        for name, target in targets().items():
            target.write(document, skipped=skipped)
            self.say(f"rebuilt {name}")

    def when_dead(self) -> None:
        """An operator may come at once."""
        for function in self.chance.choice(((), (), ("Retry",), ("Skip",), ("Retry", "Skip"))):
            self.spawn(partial(self.operate, f"{function}CommandFunction"), self.chance.uniform(0, 3))

    def meanwhile(self, kind: str) -> None:
        match kind:
            case s.STRAY_AT:
                self.spawn(self._stray, bare=True)
            case s.RETRY_AT | s.SKIP_AT:
                function = "RetryCommandFunction" if kind == s.RETRY_AT else "SkipCommandFunction"
                self.spawn(partial(self.operate, function), bare=True)
            case s.REBUILD_AT:
                self.spawn(self.rebuild, bare=True)

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
        self.run_invocation(Invocation(f"stray.{function}", function, json.dumps(event)))

    # Streams and events.

    def stream(self) -> None:
        for table, mappings in self.engine.mappings.items():
            records = dynamodb._stream_records.get(table)
            while records:
                record = records.pop(0)
                for mapping in mappings:
                    if mapping.takes(record):
                        self.spawn(partial(self._record, mapping, record))

    def _record(self, mapping: Mapping, record: Document) -> None:
        name = mapping.function.removesuffix("Function")
        self.counts[f"record:{name}"] += 1
        kind = self.fault_at(f"record:{name}#{self.counts[f'record:{name}']}", [*s.RECORD_KINDS], 4)
        if kind == s.RECORD_LOST:
            self.undelivered.append((mapping, record))
            return
        if kind == s.RECORD_TWICE:
            self.spawn(partial(self.deliver, mapping, record), self.late())
        self.simulation.sleep(self.late() if kind == s.RECORD_LATE else self.chance.uniform(0.05, 0.8))
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
            self.spawn(partial(self._delivered, place, rule, event), self.late())
        self.simulation.sleep(self.late() if kind == s.EVENT_LATE else self.chance.uniform(0.1, 1))
        self._delivered(place, rule, event)

    def _delivered(self, place: str, rule: Any, event: Document) -> None:
        for number in range(1 + rule.retries):
            if not self.invoke(rule.function, event, f"CommandEnded@{place}").get("error"):
                return
            self.simulation.sleep(60 * (number + 1))
