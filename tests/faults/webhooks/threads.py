"""Threads of an invocation, as actors: each counts its own calls, and if one dies, all do."""

from collections.abc import Callable, Iterable
from typing import Any, Self

from tests.faults.actors.acting import Acting
from tests.faults.actors.simulation import Flag
from tests.faults.invocation import Died, Invocation


class Pool:
    """In place of ThreadPoolExecutor. run: the current run."""

    def __init__(self, run: Acting, most: int) -> None:
        self._run, self._most = run, most
        current = run.simulation.current
        assert current is not None
        self._notes = current.notes
        self._parent: Invocation = current.notes["invocation"]
        self._threads: list[Invocation] = []
        self._errors: list[BaseException] = []
        self._changed = Flag(run.simulation)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """All threads have ended, or are dead."""

    def map[T, R](self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """What the work returns of each item. Raises its first error, or Died."""
        todo = list(enumerate(items))
        results: dict[int, R] = {}
        running = 0

        def thread() -> None:
            nonlocal running
            try:
                while todo and not self._parent.dead:
                    index, item = todo.pop(0)
                    self._begin(index)
                    results[index] = work(item)
            except Exception as error:
                self._errors.append(error)
            except Died as error:
                self._errors.insert(0, error)
                for one in (self._parent, *self._threads):
                    one.dead = True
            finally:
                running -= 1
                self._changed.set()

        for _ in range(min(self._most, len(todo))):
            running += 1
            self._run.spawn(thread, bare=bool(self._notes.get("bare")))
        while running and not self._parent.dead:
            self._changed = Flag(self._run.simulation)
            self._changed.wait()
        if self._errors or self._parent.dead:
            raise self._errors[0] if self._errors else Died
        return [result for _, result in sorted(results.items())]

    def _begin(self, index: int) -> None:
        """The current actor works for the invocation. If that hangs at one of its next calls, each thread does."""
        parent, current = self._parent, self._run.simulation.current
        assert current is not None
        own = Invocation(f"{parent.id}.{index}", parent.function, parent.event)
        own.holds_at = max(0, parent.holds_at - parent.calls)
        own.remaining = _remaining(own, parent, self._notes)
        self._threads.append(own)
        current.notes["invocation"] = own


def _remaining(own: Invocation, parent: Invocation, notes: dict[str, Any]) -> Callable[[], float]:
    """A thread that hung does not notice the time it lost."""
    whole = parent.remaining
    assert whole is not None
    return lambda: whole() + (notes.get("late", 0) if 0 < own.holds_at <= own.calls else 0)
