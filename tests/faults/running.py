"""Runs handlers, each as one invocation, and has their rejections checked."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from tests.faults.engine import Engine
from tests.faults.invocation import Invocation, handled, outcome
from tests.faults.notes import Notes
from tests.faults.refusals import Refusals
from tests.faults.seams import Document


@dataclass
class Running(Notes):
    """Runs handlers. refusals: checks invocations that raised a business error.

    begun: number of started pieces of work.
    """

    engine: Engine = field(kw_only=True)
    begun: int = 0
    _attempts: Counter[str] = field(default_factory=Counter)
    _local: threading.local = field(default_factory=threading.local)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.refusals = Refusals(self)

    def begin(self) -> int:
        """Note that something starts or continues; returns its number."""
        self.begun += 1
        return self.begun

    def status_of(self, order_id: str) -> str | None:
        """Return the status in the order's row."""
        item = self._item("OrdersTable", {"order_id": {"S": order_id}})
        return item["status"]["S"] if item else None

    def is_sealed(self, order_id: str, step: str) -> bool:
        """True if the record of a step says that the order is confirmed."""
        return "sealed_at" in (self._item("IdempotencyTable", {"pk": {"S": f"{order_id}#{step}"}}) or {})

    def _item(self, table: str, key: Document) -> Document | None:
        asked = {"TableName": self.engine.stack.name(table), "Key": key, "ConsistentRead": True}
        found: Document | None = self.outside(lambda: self.engine.plain("GetItem", asked)).get("Item")
        return found

    def _duplicate(self, invocation: Invocation) -> None:
        self.run_bare(Invocation(f"{invocation.id}'", invocation.function, invocation.event, bare=True))

    def run_bare(self, invocation: Invocation) -> None:
        """Run without faults."""
        answer = self._run(invocation)
        self.say(f"{invocation.id}: {outcome(answer)}")

    @property
    def _current(self) -> Invocation | None:
        current: Invocation | None = getattr(self._local, "invocation", None)
        return current

    @contextmanager
    def _inside(self, invocation: Invocation) -> Iterator[None]:
        before = self._current
        self._local.invocation = invocation
        try:
            yield
        finally:
            self._local.invocation = before

    def outside[T](self, work: Callable[[], T]) -> T:
        """Run an operator's command between the calls of the current invocation, without being part of it."""
        before, self._local.invocation = self._current, None
        try:
            return work()
        finally:
            self._local.invocation = before

    def _run(self, invocation: Invocation) -> Document:
        with self._inside(invocation), self.refusals.judged(invocation):
            return handled(self.engine.handlers[invocation.function], invocation)
