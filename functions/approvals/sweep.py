"""Makes up for lost records and events, and expires what is due."""

import logging
import random
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from .errors import SweepUnfinished
from .reviewing import Reviewing

# Of Step Functions' DescribeExecution, whose quota refills by 15 a second and serves others, too.
MAX_LOOKED_AT = 500
# Two sweeps have tried by then.
_LATE = timedelta(minutes=15)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ApprovalSweep:
    reviewing: Reviewing

    def run(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Look at all that is due or owed, and at some of what waits. Returns what was found, and what was done.

        "waiting": what waits. "overdue", "lagging": what is due, or owed, for long and still is.
        Raises SweepUnfinished.
        """
        table = self.reviewing.callbacks.table
        waiting, owed = list(table.waiting()), table.owed()
        due = {one.id for one in waiting if one.due_at <= at}
        late = {one.id for one in waiting if one.due_at + _LATE <= at}
        others = [one.id for one in waiting if one.id not in due]
        some = random.sample(others, min(len(others), MAX_LOOKED_AT))  # nosec B311
        done = {one: self._reviewed(one, at) if time_left() else "failed" for one in _shuffled([*due, *owed, *some])}
        counts = Counter(done.values())
        found = {
            "waiting": len(waiting),
            "overdue": sum(done[one] in ("waiting", "failed") for one in late),
            "lagging": sum(self._lags(one, at) for one in owed if done[one] in ("owed", "failed")),
            **{name: counts[name] for name in ("expired", "cancelled", "answered", "failed")},
        }
        # The alarms' metrics are made from this line, also when there is nothing to count.
        _logger.info("swept", extra=found)
        if found["failed"]:
            raise SweepUnfinished(f"{found['failed']} of {len(done)} approvals")
        return found

    def _reviewed(self, approval_id: str, at: datetime) -> str:
        try:
            return self.reviewing.review(approval_id, at)
        except Exception:
            _logger.exception("approval not swept", extra={"approval_id": approval_id})
            return "failed"

    def _lags(self, approval_id: str, at: datetime) -> bool:
        approval = self.reviewing.callbacks.table.find(approval_id)
        return bool(approval and approval.owed_since and approval.owed_since + _LATE <= at)


def _shuffled(ids: Iterable[str]) -> list[str]:
    # If time runs out, it must not always run out for the same approvals.
    found = list(ids)
    random.shuffle(found)
    return found
