"""Notes of a run, and how its faults are drawn."""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from tests.faults import faults as f
from tests.faults.actors.acting import Acting
from tests.faults.actors.engine import START, Mapping
from tests.faults.commands import schedule as s
from tests.faults.commands.engine import Engine
from tests.faults.commands.judge import Judge
from tests.faults.commands.plan import KEYS, plan, skips
from tests.faults.seams import Document

# Functions that wake a successor, or list a dead version: a fault in one may cost the five minutes of a sweep.
_WAKING = re.compile(r"^(record|event|check_version|wait_prev|Start|Wake|CommandEnded|Retry|Skip|Sweep|stray)")


# These lose no message: an event reports what ends an execution.
_TOLD = {s.shared.SLOW, *f.STATE_KINDS, *s.shared.MACHINE_CALL_KINDS}


def key_of(row: Document) -> int:
    """Return the number of the key in an input or a row's key."""
    return next(number for number, key in enumerate(KEYS) if row["sk"].partition("@")[0] == key.sk)


@dataclass
class Notes(Acting):
    """The notes of one run. sweep_faults: those that hit a sweep. swept: the last sweep's response.

    undelivered: records that were lost. projecting: records of synchronous commands in flight.
    """

    engine: Engine
    notices: list[str] = field(default_factory=list)
    undelivered: list[tuple[Mapping, Document]] = field(default_factory=list)
    projecting: int = 0
    sweep_faults: int = 0
    swept: Document | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.plan = plan(self.schedule)
        self.skips = skips(self.schedule)
        self.judges = [Judge(self, number) for number in sorted({one.key for one in self.plan})]

    def injected(self, kind: str, place: str) -> None:
        for judge in self.concerned:
            judge.disturbed |= bool(_WAKING.match(place)) and kind not in _TOLD
        self.sweep_faults += place.startswith("Sweep")

    @property
    def judge(self) -> Judge:
        """The judge of the key that the actor acts for; a sweep acts for all."""
        current = self.simulation.current
        return self.judges[current.notes.get("key") or 0 if current else 0]

    @property
    def concerned(self) -> Sequence[Judge]:
        """The judges whose key may suffer from a fault of the actor."""
        current = self.simulation.current
        key = current.notes.get("key") if current else None
        return self.judges if key is None else [self.judges[key]]

    def throttles(self, seconds: float) -> None:
        super().throttles(seconds)
        for judge in self.judges:
            judge.disturbed = True
            judge.excess += seconds

    def costs(self, seconds: float) -> None:
        for judge in self.concerned:
            judge.excess += seconds

    @property
    def present(self) -> datetime:
        return START + timedelta(seconds=self.simulation.now)

    @property
    def rebuilding(self) -> bool:
        """True if an operator's rebuild is acting now."""
        current = self.simulation.current
        return bool(current and current.notes.get("rebuilding"))
