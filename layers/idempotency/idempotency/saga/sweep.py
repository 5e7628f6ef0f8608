"""Makes up for lost events."""

import logging
import random
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from idempotency.errors import IdempotencyError

from .finalization import Finalization, Finalized
from .table import UnsettledIndex

_logger = logging.getLogger(__name__)


class SweepIncomplete(IdempotencyError):
    """Some sagas could not be finalized; the next sweep tries again. The message names up to ten of them."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Finalizes the sagas that are still in the index after the longest possible life of a saga.

    It also reviews failed sagas of which something still stands, and counts them for the alarm.
    """

    finalization: Finalization
    unsettled: UnsettledIndex
    max_life: timedelta

    def run(self, at: datetime, time_left: Callable[[], bool]) -> dict[str, int]:
        """Finalize all that is due. Returns how many sagas were finalized, and how many stand in part.

        time_left: called before each saga; False leaves the rest to the next sweep. A saga that was skipped, or could
        not be read, counts as standing if its row names steps that stand.
        Raises SweepIncomplete if there are such sagas.
        """
        due = list(self.unsettled.before(at - self.max_life))
        # If time runs out, it must not always run out before the same sagas.
        random.shuffle(due)
        done = {one: self._finalized(one.saga_id, at) if time_left() else Finalized.NO for one in due}
        failed = [one for one, finalized in done.items() if finalized is Finalized.NO]
        found = list(done.values())
        counts = {
            "finalized": found.count(Finalized.YES),
            "standing": found.count(Finalized.STANDING) + sum(one.standing for one in failed),
        }
        # The alarm's metric is derived from this line, so log it even if the count is 0.
        _logger.info("swept", extra=counts)
        if failed:
            raise SweepIncomplete(f"{len(failed)} of {len(done)}: {_named(one.saga_id for one in failed)}")
        return counts

    def _finalized(self, saga_id: str, at: datetime) -> Finalized:
        try:
            return self.finalization.review(saga_id, at)
        except Exception:
            saga = self.finalization.saga
            _logger.exception("saga not finalized", extra={saga.id_field: saga_id})
            return Finalized.NO


def _named(saga_ids: Iterable[str], most: int = 10) -> str:
    names = list(saga_ids)
    return ", ".join(names[:most]) + (", ..." if len(names) > most else "")
