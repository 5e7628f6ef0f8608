"""ZIPs whose machine has ended without finalizing them, and tokens whose answer was lost."""

import logging
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime

from runtime.machine import RUNNING

from .errors import StillRunning, SweepUnfinished
from .executions import Machines
from .keys import ImportKey
from .state import Import
from .zip_children import Children
from .zip_end import ZipEnd

_logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class ZipSweep:
    """Each move may be made again, by several callers at once."""

    children: Children
    end: ZipEnd
    machines: Machines

    def run(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Look at every ZIP that has not ended. Returns what was done. Raises SweepUnfinished."""
        zips = [made for made in self.children.rows.table.open() if made.zip]
        found = Counter(self._reviewed(made, at) if time_left() else "failed" for made in zips)
        counts = {"open": len(zips), **{name: found[name] for name in ("answered", "ended", "failed")}}
        # The alarms' metrics are made from this line, also when there is nothing to count.
        _logger.info("swept ZIPs", extra=counts)
        if counts["failed"]:
            raise SweepUnfinished(f"{counts['failed']} of {len(zips)} ZIPs")
        return counts

    def _reviewed(self, made: Import, at: datetime) -> str:
        try:
            return self._review(made, at)
        except StillRunning:
            return "running"
        except Exception:
            _logger.exception("ZIP not swept", extra={"import_id": made.key.import_id})
            return "failed"

    def _review(self, made: Import, at: datetime) -> str:
        """What was done. The sweep of imports starts what was never started."""
        if self.machines.status(made) in (None, RUNNING):
            return "answered" if self.children.answer_all(made) else "running"
        self.cut_off(made.key, at)
        return "ended"

    def cut_off(self, key: ImportKey, at: datetime) -> None:
        """Finalize a ZIP whose execution has ended. If a person stopped it, stop its children first.

        Raises StillRunning while children run.
        """
        made = self.children.rows.table.find(key)
        if made and made.stopped and not made.status.final:
            self.children.stop(made, at)
        self.end.finalize(key, at)
