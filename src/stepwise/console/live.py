"""Server-sent events: one poller for each address that browsers show, with any number of subscribers."""

import asyncio
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

_log = logging.getLogger(__name__)
# A poll may take this share of the time: the polled services serve others, too.
_SHARE = 0.5
_MAX_SECONDS = 60.0
AWAY = "away"
"""Name of the part that says why the page cannot be read now; empty while it can."""

type Parts = Mapping[str, str]


class Throttled(Exception):
    """The service asked for fewer calls."""


class Closed(Exception):
    """The console is ending."""


@dataclass(slots=True, eq=False)
class Subscriber:
    """A browser's stream. It gets the newest content of each part; parts that it was too slow for are replaced."""

    _news: dict[str, str] = field(default_factory=dict)
    _arrived: asyncio.Event = field(default_factory=asyncio.Event)
    _closed: bool = False

    def offer(self, parts: Parts) -> None:
        self._news.update(parts)
        if parts:
            self._arrived.set()

    async def next(self) -> Parts:
        """Return the parts that changed since the last call; waits for one. Raises Closed."""
        await self._arrived.wait()
        self._arrived.clear()
        if self._closed:
            raise Closed
        news, self._news = self._news, {}
        return news

    def close(self) -> None:
        self._closed = True
        self._arrived.set()


@dataclass(slots=True)
class _Subject:
    subscribers: set[Subscriber] = field(default_factory=set)
    known: dict[str, str] = field(default_factory=dict)
    task: "asyncio.Task[None] | None" = None


class Hub:
    """The pollers. poll: reads all parts of an address. Raises Throttled. seconds: between two polls."""

    def __init__(self, poll: Callable[[str], Awaitable[Parts]], seconds: float) -> None:
        self._poll, self._seconds = poll, seconds
        self._subjects: dict[str, _Subject] = {}

    @property
    def subjects(self) -> int:
        """Number of polled addresses."""
        return len(self._subjects)

    def close(self) -> None:
        """End all streams."""
        for subject in self._subjects.values():
            for subscriber in subject.subscribers:
                subscriber.close()

    @asynccontextmanager
    async def subscribed(self, address: str) -> AsyncIterator[Subscriber]:
        """Yield a subscriber, which first gets everything that is known."""
        subject, subscriber = self._subjects.setdefault(address, _Subject()), Subscriber()
        subscriber.offer(subject.known)
        subject.subscribers.add(subscriber)
        if subject.task is None:
            subject.task = asyncio.create_task(self._follow(address, subject))
        try:
            yield subscriber
        finally:
            subject.subscribers.discard(subscriber)
            self._end_if_alone(address, subject)

    def _end_if_alone(self, address: str, subject: _Subject) -> None:
        if not subject.subscribers and subject.task:
            subject.task.cancel()
            self._subjects.pop(address, None)

    async def _follow(self, address: str, subject: _Subject) -> None:
        clock, pause = asyncio.get_running_loop().time, self._seconds
        while True:
            began = clock()
            try:
                self._tell(subject, await self._poll(address))
                pause = max(self._seconds, (clock() - began) * (1 / _SHARE - 1))
            except Throttled:
                pause = min(pause * 2, _MAX_SECONDS)
            except Exception as error:
                _log.exception("reading %s failed", address)
                self._tell(subject, {AWAY: f"The console has a defect: {type(error).__name__}"})
                pause = min(pause * 2, _MAX_SECONDS)
            await asyncio.sleep(pause)

    def _tell(self, subject: _Subject, parts: Parts) -> None:
        news = {name: text for name, text in parts.items() if subject.known.get(name) != text}
        subject.known.update(news)
        for subscriber in subject.subscribers:
            subscriber.offer(news)
