"""Months of inactivity: TTL deletes rows, and earlier calls are repeated."""

from dataclasses import dataclass
from functools import partial

from tests.faults.actors.expiry import expire, expired
from tests.faults.commands import schedule as s
from tests.faults.commands.executing import Executing
from tests.faults.commands.invariants import ANSWERS
from tests.faults.commands.plan import MARKS, Publication, later_version

_MONTHS = 91 * 86_400
_DELETED = 0.6
# Most runs come to rest once.
_WEIGHT = 6
# In some runs, rows are deleted while the others are active.
_SECONDS = 600.0
_REFUSED = {"VersionConflict", "InvalidCommand", "PendingCommand", "Contention"}


@dataclass
class Months(Executing):
    """Months of inactivity. passed: whether they have."""

    passed: bool = False

    def publish_version(self, publication: Publication) -> None:
        raise NotImplementedError

    def stray(self) -> None:
        raise NotImplementedError

    def rests(self) -> bool:
        """Let only sweeps happen, which may last for months, once. Returns whether it did."""
        if any(judge.waived for judge in self.judges):
            return False
        if not all(judge.finished == judge.newest or (judge.blocked and not self.skips) for judge in self.judges):
            return False
        self.counts["rest"] += 1
        if self.passed or not self.faults.at(f"rest#{self.counts['rest']}", [*s.REST_KINDS], _WEIGHT):
            return False
        self.passed = True
        self.say(f"FAULT {s.MONTHS_PASS} rest#{self.counts['rest']}")
        self.simulation.now += _MONTHS
        for judge in self.judges:
            judge.disturbed = True
        # No actor waits for more than a week.
        for flag in self.waiting:
            flag.give_up()
        for table, key in expired(self.engine.stack, self.present.timestamp()):
            if self.later.random() < _DELETED:
                work = partial(expire, table, key, self.present.timestamp())
                self.spawn(work, self.later.uniform(0, _SECONDS), bare=True)
        self._repeat()
        return True

    def _repeat(self) -> None:
        """Repeat publications and ends, let a stray caller act, and publish another version."""
        for publication in self.plan:
            after = self.later.uniform(0, 2 * _SECONDS)
            self.spawn(partial(self._publish_again, publication), after, bare=True, key=publication.key)
        for event in self.later.sample(self.events, min(2, len(self.events))):
            self.spawn(event, self.later.uniform(0, 2 * _SECONDS), bare=True)
        for judge in self.judges:
            self.spawn(self.stray, self.later.uniform(0, 2 * _SECONDS), bare=True, key=judge.number)
            another = later_version(self.later, self.plan, judge.number, judge.newest + 1)
            self.spawn(partial(self.publish_version, another), _SECONDS, key=judge.number)

    def _publish_again(self, publication: Publication) -> None:
        """Repeat a publication.

        A version is never published twice; a request with an expired record makes another version.
        """
        answer = self.invoke("PublishCommandFunction", publication.document, f"Again@{MARKS[publication.key]}")
        body = answer["body"]
        if answer.get("error"):
            if body["errorType"] not in _REFUSED:
                self.judge.broken(ANSWERS, f"a repeated publication was answered with {body['errorType']}")
        elif body["status"] != "duplicate":
            self.judge.published[body["version"]] += 1
            if publication.version:
                self.judge.broken(ANSWERS, f"version {publication.version} is published again")
