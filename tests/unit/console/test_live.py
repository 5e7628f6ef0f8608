"""One poller for each address, with any number of subscribers."""

import asyncio
from collections.abc import Awaitable, Callable
from itertools import pairwise

import pytest

from stepwise.console.live import AWAY, Closed, Hub, Parts, Throttled

type Poll = Callable[[str], Awaitable[Parts]]


def polled(*answers: Parts | Exception) -> tuple[Poll, list[str]]:
    """A poll with these answers, the last one forever; and the addresses that it was called with."""
    asked: list[str] = []

    async def poll(address: str) -> Parts:
        asked.append(address)
        answer = answers[min(len(asked), len(answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer

    return poll, asked


async def soon[T](awaitable: Awaitable[T]) -> T:
    return await asyncio.wait_for(awaitable, 5)


async def stays_quiet(awaitable: Awaitable[object], seconds: float = 0.1) -> None:
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(awaitable, seconds)


def test_subscriber_gets_the_changed_parts() -> None:
    poll, _ = polled({"a": "1", "b": "1"}, {"a": "1", "b": "2"})

    async def follow() -> list[Parts]:
        async with Hub(poll, 0.01).subscribed("/runs") as subscriber:
            return [await soon(subscriber.next()), await soon(subscriber.next())]

    assert asyncio.run(follow()) == [{"a": "1", "b": "1"}, {"b": "2"}]


def test_unchanged_parts_are_not_sent() -> None:
    poll, asked = polled({"a": "1"})

    async def follow() -> None:
        async with Hub(poll, 0.01).subscribed("/runs") as subscriber:
            await soon(subscriber.next())
            while len(asked) < 4:
                await asyncio.sleep(0.01)
            await stays_quiet(subscriber.next())

    asyncio.run(follow())


def test_tabs_of_one_address_share_a_poller() -> None:
    poll, asked = polled({"a": "1"})

    async def follow() -> list[Parts]:
        hub = Hub(poll, 60)
        async with hub.subscribed("/runs") as one:
            first = await soon(one.next())
            async with hub.subscribed("/runs") as other:
                return [first, await soon(other.next())]

    assert asyncio.run(follow()) == [{"a": "1"}, {"a": "1"}]
    assert asked == ["/runs"]


def test_nothing_is_polled_once_the_last_tab_is_closed() -> None:
    poll, asked = polled({"a": "1"})

    async def follow() -> int:
        hub = Hub(poll, 0.01)
        async with hub.subscribed("/runs") as one, hub.subscribed("/stock"):
            await soon(one.next())
            assert hub.subjects == 2
        asked.clear()
        await asyncio.sleep(0.1)
        return hub.subjects

    assert asyncio.run(follow()) == 0
    assert asked == []


@pytest.mark.slow
@pytest.mark.parametrize(
    ("error", "told"),
    [(Throttled(), []), (ValueError("in-private"), [{AWAY: "The console has a defect: ValueError"}])],
    ids=["throttled", "defect"],
)
def test_error_ends_no_stream_and_slows_polling(error: Exception, told: list[Parts]) -> None:
    poll, asked = polled(error, error, error, error, {"a": "1"})

    async def follow() -> tuple[list[Parts], float]:
        clock = asyncio.get_running_loop().time
        async with Hub(poll, 0.02).subscribed("/runs") as subscriber:
            began = clock()
            return [await soon(subscriber.next()) for _ in [*told, "a"]], clock() - began

    news, seconds = asyncio.run(follow())
    assert (news, len(asked)) == ([*told, {"a": "1"}], 5)
    assert seconds >= 0.04 + 0.08 + 0.16


@pytest.mark.slow
def test_slow_poll_takes_at_most_half_of_the_time() -> None:
    asked: list[float] = []

    async def poll(_: str) -> Parts:
        asked.append(asyncio.get_running_loop().time())
        await asyncio.sleep(0.1)
        return {}

    async def follow() -> None:
        async with Hub(poll, 0.01).subscribed("/runs"):
            while len(asked) < 3:
                await asyncio.sleep(0.01)

    asyncio.run(follow())
    assert [later - before >= 0.19 for before, later in pairwise(asked)] == [True, True]


def test_stream_ends_with_the_console() -> None:
    poll, _ = polled({"a": "1"})

    async def follow() -> None:
        hub = Hub(poll, 60)
        async with hub.subscribed("/runs") as subscriber:
            await soon(subscriber.next())
            hub.close()
            with pytest.raises(Closed):
                await soon(subscriber.next())

    asyncio.run(follow())


def test_slow_subscriber_gets_only_the_newest() -> None:
    poll, asked = polled(*({"a": str(number)} for number in range(20)))

    async def follow() -> Parts:
        async with Hub(poll, 0.001).subscribed("/runs") as subscriber:
            while len(asked) <= 20:
                await asyncio.sleep(0.001)
            return await soon(subscriber.next())

    assert asyncio.run(follow()) == {"a": "19"}
