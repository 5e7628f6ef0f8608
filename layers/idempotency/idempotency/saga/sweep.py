"""Makes up for lost events."""

import logging
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta

from idempotency.errors import IdempotencyError

from .finalization import Finalization, Finalized
from .table import UnsettledIndex

_logger = logging.getLogger(__name__)


class SweepIncomplete(IdempotencyError):
    """Some sagas could not be finalized; the next sweep tries again. The message names them."""


@dataclass(frozen=True, slots=True)
class Sweep:
    """Finalizes what is still in the index after the saga's longest possible life.

    It also looks again at what stands of failed sagas, and counts it for the alarm.
    """

    finalization: Finalization
    unsettled: UnsettledIndex
    max_life: timedelta

    def run(self, at: datetime) -> dict[str, int]:
        """Finalize all that is due. Returns how many sagas were finalized, and how many stand in part.

        Raises SweepIncomplete if some could not be looked at.
        """
        due = {saga_id: self._finalized(saga_id, at) for saga_id in self.unsettled.before(at - self.max_life)}
        found = list(due.values())
        counts = {"finalized": found.count(Finalized.YES), "standing": found.count(Finalized.STANDING)}
        # The alarm's metric is made from this line, also when there is nothing to count.
        _logger.info("swept", extra=counts)
        failed = [saga_id for saga_id, finalized in due.items() if finalized is Finalized.NO]
        if failed:
            raise SweepIncomplete(f"{len(failed)} of {len(due)}: {_named(failed)}")
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
