"""A sweep: makes up for lost records and events by reviewing every row that may need it.

    done = Sweep("task", review, lambda task: {"task_id": task.id}).run(in_turns(rows, tenant_of), time_left)
    return done.report(("running", "started", "ended"), open=len(rows))

The context supplies `review`, which advances one row and returns a word for what it did.
"""

import logging
import random
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from idempotency import TransientError

FAILED = "failed"
"""The word for a row whose review raised an error, or for which no time was left."""

_logger = logging.getLogger(__name__)


class SweepUnfinished(TransientError):
    """Some rows could not be reviewed; the next sweep tries again."""


@dataclass(frozen=True, slots=True)
class Swept[T]:
    """The result of a sweep: each row with its word. noun: names a row."""

    noun: str
    done: Sequence[tuple[T, str]]

    def report(self, words: Sequence[str], **counts: int) -> dict[str, int]:
        """Log the counts and return them. words: those to count. counts: other counts of the context, first.

        Raises SweepUnfinished if a row could not be reviewed.
        """
        found = Counter(word for _, word in self.done)
        return reported(f"{self.noun}s", len(self.done), counts | {word: found[word] for word in (*words, FAILED)})


@dataclass(frozen=True, slots=True)
class Sweep[T]:
    """A sweep. noun: names a row, in the singular. ids: the ids of a row for log lines."""

    noun: str
    review: Callable[[T], str]
    ids: Callable[[T], Mapping[str, Any]]

    def run(self, rows: Iterable[T], time_left: Callable[[], bool]) -> Swept[T]:
        """Review rows in this order. time_left: called before each; False leaves the others to the next sweep."""
        return Swept(self.noun, [(row, self._reviewed(row) if time_left() else FAILED) for row in rows])

    def _reviewed(self, row: T) -> str:
        try:
            return self.review(row)
        except Exception:
            _logger.exception(f"{self.noun} not swept", extra=dict(self.ids(row)))
            return FAILED


def reported(nouns: str, total: int, counts: dict[str, int]) -> dict[str, int]:
    """Log a sweep's counts and return them. total: number of rows. nouns: names them.

    Raises SweepUnfinished if "failed" is not 0.
    """
    # The alarms' metrics are derived from this line, so log it even if all counts are 0.
    _logger.info("swept", extra=counts)
    if counts[FAILED]:
        raise SweepUnfinished(f"{counts[FAILED]} of {total} {nouns}")
    return counts


def in_turns[T](found: Iterable[T], tenant_of: Callable[[T], str]) -> list[T]:
    """Order rows in turns, one of each tenant, at random within a turn, because a sweep's time may run out.

    So a large backlog of one tenant does not delay the others', and different rows are left out in each sweep.
    """
    by_tenant: defaultdict[str, list[T]] = defaultdict(list)
    for row in found:
        by_tenant[tenant_of(row)].append(row)
    queues = list(by_tenant.values())
    random.shuffle(queues)
    for queue in queues:
        random.shuffle(queue)
    missing = object()
    rounds = zip_longest(*queues, fillvalue=missing)
    return [row for turn in rounds for row in turn if row is not missing]  # type: ignore[misc]
