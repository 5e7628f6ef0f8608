"""Makes up for lost records and events of applications that are not decided."""

import logging
import random
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from runtime.machine import RUNNING

from .definition import IN_REVIEW
from .ending import Ending
from .errors import SweepUnfinished
from .openings import Opening, Openings

# Each costs a DescribeExecution or two. Other functions share the quota: a burst of 300, refilled by 15 a second.
MAX_LOOKED_AT = 200
# The stream starts an application within seconds.
_GRACE = timedelta(minutes=1)
# Three sweeps have seen it by then, and its checks have ended.
_YOUNG = timedelta(minutes=15)
_COUNTED = ("running", "started", "ended", "closed", "finalizing", "failed")

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class OpeningSweep:
    ending: Ending

    @property
    def openings(self) -> Openings:
        return self.ending.openings

    def run(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Look at what is young or decided, and at some of the others.

        Returns how many applications are open, and what was done. Raises SweepUnfinished.
        """
        found = list(self.openings.open())
        looked_at = _chosen(found, at)
        done = Counter(self._reviewed(one, at) if time_left() else "failed" for one in looked_at)
        counts = {"open": len(found), **{name: done[name] for name in _COUNTED}}
        # The alarms' metrics are made from this line, also when there is nothing to count.
        _logger.info("swept", extra=counts)
        if counts["failed"]:
            raise SweepUnfinished(f"{counts['failed']} of {len(looked_at)} applications")
        return counts

    def _reviewed(self, seen: Opening, at: datetime) -> str:
        try:
            return self._review(seen.application_id, at)
        except Exception:
            _logger.exception("application not swept", extra={"application_id": seen.application_id})
            return "failed"

    def _review(self, application_id: str, at: datetime) -> str:
        """What was done. `finalizing`: account-setup has begun an account, and its finalization decides."""
        found = self.openings.find(application_id)
        if found is None or found.open_since is None or found.open_since + _GRACE > at:
            return "running"
        if not found.undecided:
            self.openings.close(application_id)
            return "closed"
        machine = self.ending.opening
        status = machine.status(application_id)
        if status is None:
            machine.start(application_id)
            return "started"
        if status == RUNNING:
            return "running"
        return "ended" if self.ending.end(application_id, status, at) else "finalizing"


def _chosen(found: Sequence[Opening], at: datetime) -> list[Opening]:
    """Those to look at. A review lasts for days, so most of what is open waits."""
    waiting = [one for one in found if _waits(one, at)]
    some = random.sample(waiting, min(len(waiting), MAX_LOOKED_AT))  # nosec B311
    chosen = [*(one for one in found if not _waits(one, at)), *some]
    # If time runs out, it must not always run out for the same applications.
    random.shuffle(chosen)
    return chosen


def _waits(one: Opening, at: datetime) -> bool:
    is_old = one.open_since is not None and one.open_since + _YOUNG <= at
    return one.undecided and (is_old or one.status == IN_REVIEW)
