"""Makes up for lost records and events: looks at every import that has not ended."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta

from runtime.machine import RUNNING
from runtime.sweep import in_turns

from .errors import StillRunning, SweepUnfinished
from .executions import Machines
from .finalizing import Finalization
from .state import Import

# Its function has timed out by then.
_DIRECT_LIFE = timedelta(minutes=5)
# The stream starts an import within seconds.
_GRACE = timedelta(minutes=1)

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ImportSweep:
    finalization: Finalization
    machines: Machines

    def run(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Look at every open import. Returns how many are open, and what was done. Raises SweepUnfinished."""
        found = in_turns(self.finalization.table.open(), lambda made: made.key.tenant_code)
        done = Counter(self._reviewed(made, at) if time_left() else "failed" for made in found)
        counts = {"open": len(found), **{name: done[name] for name in ("running", "started", "ended", "failed")}}
        # The alarms' metrics are made from this line, also when there is nothing to count.
        _logger.info("swept", extra=counts)
        if counts["failed"]:
            raise SweepUnfinished(f"{counts['failed']} of {len(found)} imports")
        return counts

    def _reviewed(self, seen: Import, at: datetime) -> str:
        try:
            return self._review(seen, at)
        except StillRunning:
            return "running"
        except Exception:
            _logger.exception("import not swept", extra={"import_id": seen.key.import_id})
            return "failed"

    def _review(self, seen: Import, at: datetime) -> str:
        """What was done. seen: the import as the index has it, which may be late."""
        made = self.finalization.table.find(seen.key)
        if made is None or made.status.final or made.created + _GRACE > at:
            return "running"
        if made.direct:
            if made.created + _DIRECT_LIFE > at:
                return "running"
        else:
            status = self.machines.status(made)
            if status is None:
                self.machines.start(made)
                return "started"
            if status == RUNNING or made.zip:
                return "running"
            self.machines.check_map_run_ended(made.key)
        self.finalization.finish_cut_off(made, at)
        return "ended"
