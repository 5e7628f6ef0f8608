"""Threads of an invocation, as actors: each counts its own calls, and if one dies, all do."""

from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, Self

from tests.faults.actors.acting import Acting
from tests.faults.actors.simulation import Flag
from tests.faults.invocation import Died, Invocation


class Task:
    """Replaces Future. error: what the work raised."""

    def __init__(self, pool: "Pool") -> None:
        self.pool, self.done = pool, False
        self.error: BaseException | None = None
        self.returned: Any = None

    def result(self) -> Any:
        """Return the result of the work. Raises its error, or Died."""
        if self.error:
            raise self.error
        return self.returned


class Pool:
    """Replaces ThreadPoolExecutor; its users submit no more than there are threads. run: the current run."""

    def __init__(self, run: Acting) -> None:
        self._run = run
        current = run.simulation.current
        assert current is not None
        self._notes = current.notes
        self._parent: Invocation = current.notes["invocation"]
        self._threads: list[Invocation] = []
        self._tasks: list[Task] = []
        self._changed = Flag(run.simulation)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """Wait until all threads have ended, or are dead."""

    def submit(self, work: Callable[..., Any], *given: Any) -> Task:
        task, index = Task(self), len(self._tasks)
        self._tasks.append(task)

        def thread() -> None:
            try:
                self._begin(index)
                task.returned = work(*given)
            except Exception as error:
                task.error = error
            except Died as error:
                task.error = error
                for one in (self._parent, *self._threads):
                    one.dead = True
            finally:
                task.done = True
                self._changed.set()

        self._run.spawn(thread, bare=bool(self._notes.get("bare")))
        return task

    def map[T, R](self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return the results of the work for each item. Raises its first error, or Died."""
        tasks = [self.submit(work, item) for item in items]
        for task in tasks:
            self.wait(task)
        return [task.result() for task in tasks]

    def wait(self, *tasks: Task) -> list[Task]:
        """Wait for ended tasks, at least one. Raises Died."""
        while not self._parent.dead:
            if ended := [task for task in tasks if task.done]:
                return ended
            self._changed = Flag(self._run.simulation)
            self._changed.wait()
        raise Died

    def _begin(self, index: int) -> None:
        """Let the current actor work for the invocation. If that hangs at one of its next calls, each thread does."""
        parent, current = self._parent, self._run.simulation.current
        assert current is not None
        own = Invocation(f"{parent.id}.{index}", parent.function, parent.event)
        own.holds_at = max(0, parent.holds_at - parent.calls)
        own.remaining = _remaining(own, parent, self._notes)
        self._threads.append(own)
        current.notes["invocation"] = own


def wait_for(tasks: Iterable[Task], return_when: str) -> SimpleNamespace:
    """Replace `concurrent.futures.wait`."""
    waiting = list(tasks)
    return SimpleNamespace(done=waiting[0].pool.wait(*waiting), when=return_when)


def _remaining(own: Invocation, parent: Invocation, notes: dict[str, Any]) -> Callable[[], float]:
    """Return a clock of remaining time for a thread, which does not notice the time it lost while hanging."""
    whole = parent.remaining
    assert whole is not None
    return lambda: whole() + (notes.get("late", 0) if 0 < own.holds_at <= own.calls else 0)
