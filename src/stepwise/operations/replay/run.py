"""Replays the orders of a selection, page by page."""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass

from .checkpoint import Checkpoint, State
from .fire import Outcome, Trigger
from .orders import Page, Position, Seen

# Number of orders that are replayed concurrently: their keys differ, so their order does not matter.
_AT_ONCE = 8

type Pages = Callable[[Position | None], Iterator[Page]]
type Progress = Callable[[int], None]


@dataclass(frozen=True, slots=True)
class Replay:
    """A replay. pages: the orders, from a position on. progress: called with how many more orders are done."""

    pages: Pages
    trigger: Trigger
    checkpoint: Checkpoint
    progress: Progress

    def run(self) -> Counter[Outcome]:
        """Replay everything that an earlier run with the same checkpoint has not. Returns the outcomes of both.

        Raises CheckpointMismatch, NotFired, or DynamoDB's error. After an interruption anywhere, it can run again.
        """
        state = self.checkpoint.load()
        counts = Counter(state.counts)
        self.progress(counts.total())
        with _workers() as workers:
            counts += self._fire(workers, state.page, in_doubt=True)
            if not state.last:
                for page in self.pages(state.after):
                    self.checkpoint.save(State(page.orders, page.after, page.after is None, counts))
                    counts += self._fire(workers, page.orders, in_doubt=False)
        self.checkpoint.save(State(last=True, counts=counts))
        return counts

    def count(self) -> Counter[Outcome]:
        """Count what `run` would replay, without replaying it."""
        state = self.checkpoint.load()
        counts = self._counted(state.page)
        if not state.last:
            for page in self.pages(state.after):
                counts += self._counted(page.orders)
        return counts

    def _counted(self, orders: Sequence[Seen]) -> Counter[Outcome]:
        self.progress(len(orders))
        return Counter(Outcome.NO_REVISION if seen.revision is None else Outcome.FIRED for seen in orders)

    def _fire(self, workers: ThreadPoolExecutor, orders: Sequence[Seen], *, in_doubt: bool) -> Counter[Outcome]:
        counts: Counter[Outcome] = Counter()
        for outcome in workers.map(lambda seen: self.trigger.fire(seen, in_doubt=in_doubt), orders):
            counts[outcome] += 1
            self.progress(1)
        return counts


@contextmanager
def _workers() -> Iterator[ThreadPoolExecutor]:
    """Provide threads that stop, instead of finishing the page, when the replay is interrupted."""
    pool = ThreadPoolExecutor(_AT_ONCE)
    try:
        yield pool
    finally:
        pool.shutdown(cancel_futures=True)
