"""A schedule: how actors interleave, and which faults hit. One line replays it."""

import random
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from tests.faults import faults as f
from tests.faults.faults import Fault

SLOW = "slow at"
HELD = "lands late:"
TORN = "torn read at"
ABORTED_AT = "aborted at"
EXECUTION_TIMED_OUT_AT = "execution timed out at"
RECORD_LOST, RECORD_LATE, RECORD_TWICE = "record lost:", "record late:", "record twice:"
EVENT_LOST, EVENT_LATE, EVENT_THRICE = "event lost:", "event late:", "event thrice:"
REDRIVEN = "redriven:"
THROTTLED_FOR = "throttled for a while:"

# Faults at one AWS call.
CALL_KINDS = {
    **{
        kind: f.CALL_KINDS[kind]
        for kind in (
            *(f.DIES_BEFORE, f.DIES_AFTER, f.ANSWER_LOST, f.ANSWER_LOST_ONCE, f.UNREACHABLE, f.THROTTLED),
            f.DUPLICATE_AT,
        )
    },
    SLOW: "the call takes seconds",
}
WRITE_KINDS = {HELD: "the client gives up waiting for the write, and it lands later"}
READ_KINDS = {TORN: "the rows of a batch are read one by one, in any order, and others write in between"}
TRANSACTION_KINDS = {f.CONFLICT: f.CALL_KINDS[f.CONFLICT]}
MACHINE_CALL_KINDS = {
    ABORTED_AT: "StopExecution while the function works on",
    EXECUTION_TIMED_OUT_AT: "the execution times out while the function works on",
}
# Faults at one invocation.
INVOCATION_KINDS = {
    **{
        kind: f.INVOCATION_KINDS[kind]
        for kind in (f.ERROR_BEFORE, f.ERROR_AFTER, f.TIMED_OUT_BEFORE, f.TIMED_OUT_AFTER)
    },
    f.LATE: "told to have timed out; the rest of its work lands later",
    f.ABANDONED: "told to have failed; the rest of its work lands later",
    f.AGAIN: "delivered a second time later",
}
# Faults at one record of a stream, or one status event.
RECORD_KINDS = {
    RECORD_LOST: "it never arrives",
    RECORD_LATE: "it arrives minutes later",
    RECORD_TWICE: "it arrives twice, minutes apart or at once",
}
EVENT_KINDS = {
    EVENT_LOST: "it never arrives",
    EVENT_LATE: "it arrives minutes later, perhaps in a later attempt",
    EVENT_THRICE: "it arrives three times",
}
# Faults after an execution has ended without success.
END_KINDS = {REDRIVEN: "an operator redrives it, at once or minutes later"}
# The only fault of its schedule.
ACCOUNT_KINDS = {THROTTLED_FOR: "Lambda throttles every invocation in the account, for up to an hour"}
# Share of a run's points that get a fault: none, few, or many.
_RATES = (0.0, 0.008, 0.02, 0.05)
_MAX_FAULTS = 8
# Share of schedules without another fault that are throttled.
_THROTTLED = 0.3


def kinds(at_calls: Mapping[str, str], *others: Mapping[str, str]) -> Mapping[str, str]:
    """Return all kinds of faults of a context, in the order of reports. at_calls, others: the context's own."""
    at_call = {**CALL_KINDS, **at_calls, **WRITE_KINDS, **TRANSACTION_KINDS, **READ_KINDS, **MACHINE_CALL_KINDS}
    return {kind: why for kinds in (at_call, INVOCATION_KINDS, f.STATE_KINDS, *others) for kind, why in kinds.items()}


@dataclass(frozen=True, slots=True)
class Schedule:
    """A schedule. seed: decides the plan and the interleaving. faults: None if the seed decides them, too.

    NAME: prefix of a schedule's line. KINDS: of faults. OWN_CALL_KINDS: at a call, in addition to those of all actors.
    """

    NAME: ClassVar[str]
    KINDS: ClassVar[Mapping[str, str]]
    OWN_CALL_KINDS: ClassVar[Mapping[str, str]]

    seed: int
    faults: tuple[Fault, ...] | None = None

    def __str__(self) -> str:
        if self.faults is None:
            return f"{self.NAME} {self.seed}"
        return f"{self.NAME} {self.seed}: {'; '.join(map(str, self.faults)) or 'no fault'}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Parse a schedule. Raises ValueError."""
        head, colon, tail = text.partition(":")
        match = re.fullmatch(rf"{cls.NAME} (\d+)", head.strip())
        if match is None:
            raise ValueError(f"{head!r} is not {cls.NAME} and a seed")
        parts = [part.strip() for part in tail.split(";")]
        faults = tuple(cls._parsed(part) for part in parts if part not in {"", "no fault"})
        return cls(int(match[1]), faults if colon else None)

    def chance(self, purpose: str) -> random.Random:
        """Create a random generator seeded by the schedule, so replays are identical."""
        return random.Random(f"{purpose} {self.seed}")  # noqa: S311

    @classmethod
    def _parsed(cls, text: str) -> Fault:
        found = [kind for kind in cls.KINDS if text.startswith(f"{kind} ")]
        if not found:
            raise f.UnknownFault(f"{text!r} begins with none of: {', '.join(cls.KINDS)}")
        kind = max(found, key=len)
        return Fault(kind, text[len(kind) + 1 :])


type Focus = tuple[tuple[str, tuple[str, ...]], ...]
"""Patterns of places for random faults, and the kinds of faults to inject there."""
_AT_FOCUS = 0.6


class Faults:
    """The faults of a run: listed, or drawn at each point. injected: in order. focus: draws there only."""

    def __init__(self, schedule: Schedule, focus: Focus | None = None) -> None:
        self._chance = schedule.chance("faults")
        self._schedule, self._focus = schedule, focus
        self._rate = self._chance.choice(_RATES) if schedule.faults is None else 0
        self._listed = {fault.at: fault for fault in schedule.faults or ()}
        self.injected: list[Fault] = []

    def at(self, place: str, kinds: Sequence[str], weight: float = 1) -> str:
        """Return the kind of fault that hits here; empty for none."""
        if self._focus is not None:
            fault = self._focused(place, kinds)
        elif fault := self._listed.get(place):
            if fault.kind not in kinds or fault in self.injected:
                return ""
        elif len(self.injected) < _MAX_FAULTS and self._chance.random() < self._rate * weight:
            fault = Fault(self._chance.choice(kinds), place)
        else:
            return ""
        if fault is None:
            return ""
        self.injected.append(fault)
        return fault.kind

    def throttled(self, place: str, chance: random.Random) -> bool:
        """Check whether the account is throttled, in a schedule without another fault. chance: of this fault alone."""
        fault, drawn = Fault(THROTTLED_FOR, place), chance.random() < _THROTTLED and not self._rate
        if self._focus is not None:
            drawn = self._focused(place, [THROTTLED_FOR]) is not None
        elif self._schedule.faults is not None:
            drawn = place in self._listed
        if not drawn:
            return False
        self.injected.append(fault)
        return True

    def _focused(self, place: str, kinds: Sequence[str]) -> Fault | None:
        for pattern, wanted in self._focus or ():
            possible = [kind for kind in wanted if kind in kinds]
            if possible and re.search(pattern, place) and self._chance.random() < _AT_FOCUS:
                return Fault(self._chance.choice(possible), place)
        return None
