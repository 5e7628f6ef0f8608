"""One run of a schedule: publishers, operators, the sweep, streams and events."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from tests.faults.actors.engine import Mapping
from tests.faults.commands import restoring
from tests.faults.commands import schedule as s
from tests.faults.commands.beside import REBUILD, Rebuilding
from tests.faults.commands.invariants import ANSWERS
from tests.faults.commands.judge import Judge
from tests.faults.commands.months import Months
from tests.faults.commands.notes import key_of
from tests.faults.commands.plan import MARKS, Publication
from tests.faults.invocation import Invocation
from tests.faults.seams import Document

_OF_MACHINE = ("CheckVersion", "SetTtlCommand", "HistoryCopy", "TransformData", "FinishCommand", "FinishCommand")
_REBUILDS = 10
# Higher, so that a target fails more often than a record gets lost.
_OFTEN = 3
_REPLACEMENT = {"attributes": {"category": "tea", "price": 1, "currency": "JPY"}}


@dataclass
class Run(Months):
    """A run; hooks of the engine at each seam."""

    def publish_version(self, publication: Publication) -> None:
        """Publish until a response is final."""
        judge = self.judge
        name = f"PublishCommand@{MARKS[publication.key]}{publication.version or 'next'}"
        for number in range(200):
            answer = self.invoke("PublishCommandFunction", publication.document, name)
            if not answer.get("error"):
                judge.published[answer["body"]["version"]] += 1
                return
            error = answer["body"]["errorType"]
            if error in {"VersionConflict", "InvalidCommand", "AttributesTooLarge"}:
                if not (error == "InvalidCommand" and publication.document["mode"] == "sync"):
                    judge.broken(ANSWERS, f"{name} was refused: {answer['body']['errorMessage']}")
                    return
                # The current data cannot be merged with it. Another version may be published instead.
                publication = replace(publication, document={**publication.document, "merge": False, **_REPLACEMENT})
            self.simulation.sleep(min(0.3 * 3 ** min(number, 9), 120) * self.chance.uniform(0.5, 1))
        judge.broken(ANSWERS, f"{name} gets no answer that is final")

    def operate(self, function: str) -> None:
        """Retry or skip, as an operator."""
        order = {**self.judge.key.row, "reason": "because", "by": "operator"}
        self.invoke(function, order, f"{function.removesuffix('Function')}{_at(self.judge)}")

    def sweep(self) -> None:
        """Run the scheduled sweep, an asynchronous invocation."""
        self.swept = None
        for pause in (60, 120, 0):
            answer = self.invoke("SweepCommandsFunction", {"source": "aws.events"}, "SweepCommands")
            if not answer.get("error"):
                self.swept = answer["body"]
                return
            self.simulation.sleep(pause)

    def rebuild(self, names: Sequence[str] = ("products", "catalog")) -> None:
        """Run `commands rebuild` for the key and each target, as an operator; again, if a call fails."""
        assert self.simulation.current is not None
        self.simulation.current.notes["rebuilding"] = True
        for name in names:
            for _ in range(_REBUILDS):
                self.counts["Rebuild"] += 1
                finished = self.judge.finished
                event = json.dumps({**self.judge.key.row, "target": name})
                invocation = Rebuilding(f"Rebuild{_at(self.judge)}#{self.counts['Rebuild']}", REBUILD, event)
                if not self.run_invocation(invocation).get("error"):
                    self.judge.rebuilt[name] = max(self.judge.rebuilt[name], finished)
                    break
                self.simulation.sleep(30)

    def when_dead(self, judge: Judge) -> None:
        """Let an operator act at once, in some runs."""
        for function in self.chance.choice(((), (), ("Retry",), ("Skip",), ("Retry", "Skip"))):
            work = partial(self.operate, f"{function}CommandFunction")
            self.spawn(work, self.chance.uniform(0, 3), key=judge.number)

    def when_lagging(self, judge: Judge) -> None:
        """Let an operator rebuild at once, in some runs."""
        if self.chance.random() < 0.5:
            self.spawn(self.rebuild, self.chance.uniform(0, 3), key=judge.number)

    def meanwhile(self, kind: str) -> None:
        match kind:
            case s.STRAY_AT:
                self.spawn(self.stray, bare=True, key=self.later.choice(self.judges).number)
            case s.RETRY_AT | s.SKIP_AT:
                function = "RetryCommandFunction" if kind == s.RETRY_AT else "SkipCommandFunction"
                self.spawn(partial(self.operate, function), bare=True)
            case s.REBUILD_AT:
                self.spawn(self.rebuild, bare=True)
            case s.RESTORED_AT:
                self.spawn(partial(restoring.restore, self, self.judge), bare=True, key=self.judge.number)

    def stray(self) -> None:
        """Call any function, with any version and attempt, under the right name or another."""
        judge = self.judge
        version, attempt = self.later.randint(1, 4), self.later.randint(1, 2)
        name = judge.name(version, self.later.choice((attempt, attempt, 1)))
        task = {
            **judge.key.row,
            "version": version,
            "attempt": attempt,
            "execution": self.later.choice((name, name, "other")),
        }
        function, event = self.later.choice(
            [
                *((f"{one}Function", task) for one in _OF_MACHINE),
                ("WaitPrevCommandFunction", {**task, "token": "stray-token"}),
                *(("SyncDataFunction", {**task, "target": target}) for target in ("products", "catalog")),
                ("SweepCommandsFunction", {}),
                *(("PublishCommandFunction", one.document) for one in self._strays()),
                # A mistake that must not set the type of the key.
                *(("PublishCommandFunction", {**one.document, "type": "Product"}) for one in self._strays()),
            ]
        )
        self.say(f"stray call of {function} {version}.{attempt} as {task['execution'][-8:]}")
        self.run_invocation(Invocation(f"stray.{function}", function, json.dumps(event)))

    def _strays(self) -> list[Publication]:
        """Return the publications that a stray caller may make. A request whose outcome is forgotten is excluded."""
        own = [one for one in self.plan if one.key == self.judge.number]
        return [one for one in own[:1] if one.version or not self.passed]

    # Streams and events.

    def wrote(self, table: str, old: Document | None, new: Document | None) -> None:
        """Judge a written row; its transaction may still be running."""
        table = table.removeprefix(self.engine.stack.prefix)
        sk = (new or old or {}).get("sk", {}).get("S", "").partition("@")[0]
        for judge in self.judges:
            if judge.key.sk == sk:
                judge.wrote(table, old, new)

    def notes_of(self, record: Document) -> dict[str, Any]:
        return {"key": key_of({"sk": record["dynamodb"]["Keys"]["sk"]["S"]})}

    def arrive(self, mapping: Mapping, record: Document) -> None:
        name = mapping.function.removesuffix("Function")
        projects = name == "SyncTargets"
        self.counts[f"record:{name}"] += 1
        kinds = [*s.shared.RECORD_KINDS, *(_OFTEN * [*s.TARGET_KINDS] if projects else ())]
        kind = self.fault_at(f"record:{name}#{self.counts[f'record:{name}']}", kinds, 12 if projects else 4)
        if kind == s.shared.RECORD_LOST:
            self.undelivered.append((mapping, record))
            return
        if kind == s.shared.RECORD_TWICE:
            self.spawn(partial(self.deliver, mapping, record), self.late())
        fails = self.later.choice(("products", "catalog")) if kind == s.TARGET_FAILS else ""
        assert self.simulation.current is not None
        self.simulation.current.notes["fails"] = fails
        self.projecting += projects
        self.simulation.sleep(self.late() if kind == s.shared.RECORD_LATE else self.chance.uniform(0.05, 0.8))
        self.deliver(mapping, record)
        self.projecting -= projects

    def deliver(self, mapping: Mapping, record: Document) -> None:
        if not self.taken(mapping, [record]):
            self.undelivered.append((mapping, record))

    def status_changed(self, event: Document) -> None:
        detail = json.loads(event["Detail"])
        if detail["status"] == "RUNNING":
            return
        own = json.loads(detail["input"])
        key = key_of(own)
        place = f"{MARKS[key]}{own['version']}.{own['attempt']}"
        self.say(f"execution {place} {detail['status']} {detail['error'] or ''}".rstrip())
        self.judges[key].ended(own["version"], own["attempt"], detail["status"], detail["error"] or "")
        self.may_be_redriven(detail, place)
        self.tell("CommandEnded", place, event, key=key)


def _at(judge: Judge) -> str:
    return f"@{MARKS[judge.number]}" if judge.number else ""
