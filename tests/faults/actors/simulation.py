"""Actors in one process: one runs at a time, and virtual time decides which is next. Replays of a run are identical.

Each actor has a thread, because handlers and the engine of state machines block; a lock passes the turn from one to
the next. The thread of an ended actor continues as the next one, if that has not begun: this saves most switches.
"""

import heapq
import itertools
import math
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any


class Gone(BaseException):
    """The actor is cut off here: its execution has ended, or the run is over."""


@dataclass(eq=False)
class Actor:
    """One actor. notes: its own data, such as the invocation that it runs. turn: a wait for an older turn is stale.

    job: all its work; returns the actor that continues in the same thread. thread: None until it begins.
    """

    notes: dict[str, Any] = field(default_factory=dict)
    turn: int = 0
    job: "Callable[[], Actor | None]" = lambda: None
    thread: "_Thread | None" = None


class _Thread(threading.Thread):
    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.go = threading.Lock()
        self.go.acquire()
        self.actor: Actor | None = None

    def run(self) -> None:
        while True:
            self.go.acquire()
            actor = self.actor
            while actor:
                actor = actor.job()


_idle: list[_Thread] = []


class Simulation:
    """The actors of a run. now: seconds since its start. current: the running actor; None for the caller of `run`."""

    def __init__(self) -> None:
        self.now = 0.0
        self.current: Actor | None = None
        self.errors: list[BaseException] = []
        self._due: list[tuple[float, int, Actor, int]] = []
        self._numbers = itertools.count()
        self._live: set[Actor] = set()
        self._until = math.inf
        self._closing = False
        self._main = threading.Lock()
        self._main.acquire()

    @property
    def quiet(self) -> bool:
        """True if nothing more happens by itself."""
        return not self._first()

    def run(self, until: float = math.inf) -> None:
        """Run the actors until a moment, or until nothing more happens by itself."""
        self._until = until
        if actor := self._next():
            _let_go(actor)
            self._main.acquire()
        if until < math.inf:
            self.now = max(self.now, until)
        if self.errors:
            raise self.errors[0]

    def close(self) -> None:
        """Cut off all waiting actors."""
        self._closing = True
        self.errors.clear()
        for actor in self._live:
            self._wake(actor, 0)
        self.run()

    def spawn(self, work: Callable[[], object], delay: float = 0, **notes: Any) -> Actor:
        """Start an actor after a delay. It has the notes of its parent, and these."""
        inherited = self.current.notes if self.current else {}
        actor = Actor({**inherited, **notes})
        self._live.add(actor)

        def job() -> Actor | None:
            try:
                if not self._closing:
                    work()
            except Gone:
                pass
            except BaseException as error:
                self.errors.append(error)
            self._live.discard(actor)
            actor.turn += 1
            return self._end(actor)

        actor.job = job
        self._wake(actor, delay)
        return actor

    def sleep(self, seconds: float) -> None:
        """Let the others act, and continue after a delay."""
        if actor := self.current:
            self._wake(actor, seconds)
            self._yield(actor)

    def _end(self, actor: Actor) -> Actor | None:
        """End an actor. Its thread continues as the returned actor, or waits for another one."""
        thread, following = actor.thread, self._next()
        assert thread is not None
        if following and following.thread is None:
            following.thread = thread
            return following
        _idle.append(thread)
        self._hand_over(following)
        return None

    def _hand_over(self, following: Actor | None) -> None:
        if following:
            _let_go(following)
        else:
            self._main.release()

    def _yield(self, actor: Actor) -> None:
        following = self._next()
        if following is not actor:
            assert actor.thread is not None
            self._hand_over(following)
            actor.thread.go.acquire()
        if self._closing:
            raise Gone

    def _wake(self, actor: Actor, delay: float) -> None:
        heapq.heappush(self._due, (self.now + delay, next(self._numbers), actor, actor.turn))

    def _first(self) -> tuple[float, int, Actor, int] | None:
        while self._due and self._due[0][3] != self._due[0][2].turn:
            heapq.heappop(self._due)
        return self._due[0] if self._due else None

    def _next(self) -> Actor | None:
        """Make the next actor the current one; None if it is the turn of the caller of `run`."""
        first = self._first()
        if first is None or first[0] > self._until:
            self.current = None
            return None
        heapq.heappop(self._due)
        self.now = max(self.now, first[0])
        self.current = first[2]
        self.current.turn += 1
        return self.current


class Flag:
    """A threading.Event for actors."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        self._waiting: list[tuple[Actor, int]] = []
        self.is_set = False

    def set(self) -> None:
        self.is_set = True
        for actor, turn in self._waiting:
            if actor.turn == turn:
                self._simulation._wake(actor, 0)
        self._waiting.clear()

    def give_up(self) -> None:
        """Wake the waiting actor: nobody will set the flag in time."""
        for actor, turn in self._waiting:
            if actor.turn == turn:
                self._simulation._wake(actor, 0)

    def wait(self, seconds: float | None = None) -> bool:
        """Wait; returns whether the flag was set in time. seconds: None for no limit."""
        actor = self._simulation.current
        assert actor is not None
        if not self.is_set:
            self._waiting.append((actor, actor.turn))
            if seconds is not None:
                self._simulation._wake(actor, seconds)
            self._simulation._yield(actor)
        return self.is_set


def _let_go(actor: Actor) -> None:
    if actor.thread is None:
        actor.thread = _idle.pop() if _idle else _started()
        actor.thread.actor = actor
    actor.thread.go.release()


def _started() -> _Thread:
    thread = _Thread()
    thread.start()
    return thread
