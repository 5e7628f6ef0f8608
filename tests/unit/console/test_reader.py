"""Reads of the console while a stack is slow, unreachable, or refuses a call."""

import asyncio
import subprocess
import sys
import threading
from collections.abc import Iterator
from typing import Any, cast

import pytest

from stepwise.cli import hints
from stepwise.console import reader
from stepwise.console.pages import Problem
from stepwise.console.reader import Reader
from stepwise.console.settings import Settings
from stepwise.operations.stack import Stack, StackNotFound
from tests.kit.project import ROOT

ENDS = """
import asyncio, time
from stepwise.console.reader import Reader
from stepwise.console.settings import Settings
from stepwise.operations.daemons import mapped

async def give_up():
    async with asyncio.timeout(0.5):
        await Reader(Settings(None, None)).read(lambda: mapped(time.sleep, [600], 2))

asyncio.run(give_up())
"""


class Switch:
    """A stack that can go away. A read of it does not return until the test ends, like a client with many retries."""

    def __init__(self) -> None:
        self.away = False
        self.ended = threading.Event()

    def open(self) -> Stack:
        if self.away:
            raise StackNotFound("nothing answers at http://127.0.0.1:4566", see=("start",))
        return Stack(cast("Any", None), None, {})

    def read(self) -> str:
        return "read" if self.ended.wait(20) else "too late"

    def answers(self) -> str:
        threading.Timer(0.3, self.ended.set).start()
        return self.read()


@pytest.fixture
def switch(monkeypatch: pytest.MonkeyPatch) -> Iterator[Switch]:
    monkeypatch.setattr(reader, "_SLOW_SECONDS", 0.1)
    made = Switch()
    yield made
    made.ended.set()


def readers(switch: Switch) -> Reader:
    return Reader(Settings(switch.open, hints.command))


def test_read_is_abandoned_once_the_stack_is_away(switch: Switch) -> None:
    async def go() -> str | Problem:
        reader = readers(switch)
        await reader.read(reader.connection.stack)
        switch.away = True
        found = await reader.read(switch.read)
        switch.ended.set()
        return found

    found = asyncio.run(go())
    assert isinstance(found, Problem)
    assert (found.away, found.sentence) == (True, "nothing answers at http://127.0.0.1:4566")


@pytest.mark.slow
def test_slow_read_of_a_responding_stack_is_awaited(switch: Switch) -> None:
    assert asyncio.run(readers(switch).read(switch.answers)) == "read"


@pytest.mark.slow
def test_change_is_awaited_while_the_stack_is_away(switch: Switch) -> None:
    switch.away = True
    assert asyncio.run(readers(switch).tried(switch.answers)) == "read"


@pytest.mark.slow
def test_process_exit_does_not_wait_for_a_read() -> None:
    command = [sys.executable, "-c", ENDS]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)

    assert ended.stderr.endswith("TimeoutError\n")
