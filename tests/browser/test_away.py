"""A stack that goes away and returns, and a console that stops: the pages say so, and recover by themselves."""

import threading
from collections.abc import Iterator
from dataclasses import dataclass

import pytest
from playwright.sync_api import Browser, Page, expect

from stepwise.cli import hints
from stepwise.console.server import Server
from stepwise.console.settings import Settings
from stepwise.local.emulator import emulator
from stepwise.operations.stack import Stack
from tests.browser.line import Line, line
from tests.browser.things import Things


@dataclass
class Away:
    """A console whose connection to the stack can be cut."""

    line: Line
    server: Server
    page: Page


@pytest.fixture
def away(running: emulator.Emulator, browser: Browser) -> Iterator[Away]:
    with line(running.port) as made:
        endpoint = f"http://127.0.0.1:{made.port}"
        server = Server(Settings(lambda: Stack.local(endpoint), hints.command), 0)
        thread = threading.Thread(target=server.serve, daemon=True)
        thread.start()
        context = browser.new_context(base_url=server.address)
        yield Away(made, server, context.new_page())
        context.close()
        server.stop()
        thread.join(10)


def test_lost_stack_is_reported_and_the_page_recovers_by_itself(away: Away, things: Things) -> None:
    page = away.page
    page.goto("/runs")
    page.wait_for_timeout(1000)
    page.evaluate("window.same = true")
    away.line.cut()
    expect(page.locator("#away")).to_contain_text("nothing answers at", timeout=20_000)
    expect(page.get_by_role("alert")).to_be_visible()
    order = things.placed()
    away.line.mend()

    expect(page.locator("#away")).to_be_hidden(timeout=20_000)
    expect(page.get_by_role("link", name=order)).to_be_visible(timeout=20_000)
    assert page.evaluate("window.same") is True


def test_page_opened_while_the_stack_is_away_loads_once_it_is_back(away: Away) -> None:
    page = away.page
    away.line.cut()
    answer = page.goto("/runs")
    assert answer
    assert answer.status == 503
    expect(page.locator("main")).to_contain_text("nothing answers at")
    expect(page.locator("main")).to_contain_text("stepwise start")
    away.line.mend()

    expect(page.get_by_role("heading", level=1)).to_have_text("Runs", timeout=20_000)


def test_change_while_the_stack_is_away_says_why_it_failed(away: Away, things: Things) -> None:
    sku = things.sku(10)
    page = away.page
    page.goto(f"/changes/add-stock?sku={sku}")
    page.get_by_label("Pieces").fill("5")
    page.get_by_label("Why").fill("more")
    away.line.cut()
    page.locator("form.change button").click()
    expect(page.locator("main")).to_contain_text("nothing answers at", timeout=30_000)
    away.line.mend()


def test_stopped_console_is_reported(away: Away) -> None:
    page = away.page
    page.goto("/runs")
    page.wait_for_timeout(500)
    away.server.stop()

    expect(page.locator("#away")).to_contain_text("The console does not answer", timeout=20_000)


def test_click_while_the_console_is_down_raises_no_page_error(away: Away, things: Things) -> None:
    page, defects = away.page, list[str]()
    page.on("pageerror", lambda error: defects.append(str(error)))
    page.goto(f"/stock/{things.sku(10)}")
    away.server.stop()
    page.get_by_role("link", name="Add", exact=True).click()

    expect(page.locator("#away")).to_contain_text("The console does not answer", timeout=20_000)
    page.wait_for_timeout(500)
    assert defects == []
