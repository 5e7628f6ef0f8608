"""One local stack and one console for all tests, and a real Chromium."""

import threading
from collections.abc import Iterator
from os import environ
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from stepwise.cli import hints
from stepwise.console.server import Server
from stepwise.console.settings import Settings
from stepwise.local.deployment import deploy
from stepwise.local.emulator import emulator
from stepwise.local.simulators.payment_gateway import secret
from stepwise.operations.stack import Stack
from tests.browser.things import Things
from tests.kit.injection import Resources
from tests.kit.local_stack import QUICKLY

CHROMIUM = Path(environ.get("CHROMIUM", "/usr/bin/chromium"))


def pytest_sessionstart() -> None:
    # A busy machine must not fail a test.
    expect.set_options(timeout=20_000)
    if not CHROMIUM.is_file():
        pytest.exit(
            f"there is no {CHROMIUM}: install Chromium (Debian: apt-get install chromium), or set CHROMIUM to its path",
            returncode=1,
        )


@pytest.fixture(scope="session")
def running() -> Iterator[emulator.Emulator]:
    with emulator.attached(QUICKLY) as started:
        parameters = secret.parameters(started.endpoint, started.simulators["gateway"])
        parameters |= secret.card_parameters(started.endpoint, started.simulators["cards"])
        deploy(started.endpoint, started.log, **parameters)
        yield started


@pytest.fixture(scope="session")
def stack(running: emulator.Emulator) -> Stack:
    return Stack.local(running.endpoint, services=running.simulators)


@pytest.fixture(scope="session")
def things(stack: Stack) -> Things:
    return Things(stack, Resources(stack))


@pytest.fixture(scope="session")
def console(running: emulator.Emulator) -> Iterator[str]:
    settings = Settings(
        lambda: Stack.local(running.endpoint, services=emulator.endpoints_beside(running.port)), hints.command
    )
    server = Server(settings, 0)
    thread = threading.Thread(target=server.serve, daemon=True)
    thread.start()
    yield server.address
    server.stop()
    thread.join(30)


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    with sync_playwright() as driver:
        started = driver.chromium.launch(executable_path=str(CHROMIUM), args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def page(browser: Browser, console: str) -> Iterator[Page]:
    """A page that must not report an error."""
    context = browser.new_context(base_url=console)
    made = context.new_page()
    made.set_default_timeout(20_000)
    problems: list[str] = []
    made.on("pageerror", lambda error: problems.append(str(error)))
    made.on("console", lambda message: problems.append(message.text) if message.type == "error" else None)
    yield made
    context.close()
    assert [one for one in problems if "422" not in one and "409" not in one and "404" not in one] == []
