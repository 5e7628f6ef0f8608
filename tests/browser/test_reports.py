"""Reports: orders and revenue of a day."""

from datetime import UTC, datetime, timedelta

from playwright.sync_api import Page, expect

from stepwise.operations import report
from stepwise.operations.money import shown
from tests.browser.things import Things
from tests.kit.injection import eventually


def test_day_shows_its_orders_and_revenue_and_updates_live(page: Page, things: Things) -> None:
    today = datetime.now(UTC).date()
    things.placed()
    eventually(lambda: bool(report.lines(things.stack, today.isoformat())))
    page.goto("/reports")
    expect(page.get_by_role("row", name="Confirmed")).to_contain_text("JPY")
    page.evaluate("window.kept = true")
    before = _revenue(things)
    things.placed()
    eventually(lambda: _revenue(things) > before)

    # Orders of earlier tests may still be counted.
    row = page.get_by_role("row", name="Confirmed")
    eventually(lambda: shown(_revenue(things), "JPY") in row.inner_text())
    assert page.evaluate("window.kept")


def _revenue(things: Things) -> int:
    lines = report.lines(things.stack, datetime.now(UTC).date().isoformat())
    return sum(line.revenue for line in lines if line.currency == "JPY")


def test_previous_day_is_a_link_away_and_empty(page: Page) -> None:
    page.goto("/reports")
    before = (datetime.now(UTC).date() - timedelta(days=1)).isoformat()
    page.get_by_role("link", name=before).click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Orders of {before} (UTC)")
    expect(page.locator("main")).to_contain_text("No order was created on this day.")


def test_invalid_day_is_rejected(page: Page) -> None:
    page.goto("/reports?date=2026-13-01")

    expect(page.locator("main")).to_contain_text("date: '2026-13-01' is not YYYY-MM-DD")
