"""Judges: which cases were reached, and which invariants broke."""

from collections import Counter

from tests.faults.actors.acting import Acting


class Judging[R: Acting]:
    """Notes of a judge.

    violations: (invariant, detail) in order. outcomes: counts of invocation outcomes. calls: by function and operation.
    hits: faults at calls, by function, operation and kind. stops: ends of executions from outside, by state and kind.
    mark: prefix of its lines in the trace.
    """

    mark = ""

    def __init__(self, run: R) -> None:
        self.run = run
        self.violations: list[tuple[str, str]] = []
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.calls: Counter[tuple[str, str]] = Counter()
        self.hits: Counter[tuple[str, str, str]] = Counter()
        self.stops: Counter[tuple[str, str]] = Counter()

    def broken(self, invariant: str, detail: str) -> None:
        if (invariant, detail) not in self.violations:
            self.violations.append((invariant, detail))
            self.run.say(f"VIOLATION {self.mark}{invariant}: {detail}")
