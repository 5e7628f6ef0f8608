"""Stock: on hand, changed with a reason, and who changed it."""

from playwright.sync_api import Page, expect

from stepwise.operations import stock
from tests.browser.asking import confirm, refused, told
from tests.browser.things import HOSTILE, Things, new


def test_pieces_are_added_with_a_reason_and_kept_in_the_history(page: Page, things: Things) -> None:
    sku = things.sku(10)
    page.goto("/stock")
    page.get_by_role("row", name=sku).get_by_role("link", name="Add").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"stock add {sku} PIECES --reason WHY")
    confirm(page, Pieces="5", Why=HOSTILE, **{"Done by": "ann"})
    told(page, f"{sku}: 10 -> 15 pieces on hand.")
    page.get_by_role("row", name=sku).get_by_role("link", name=sku).first.click()
    expect(page.locator("main")).to_contain_text("15 pieces on hand")
    expect(page.get_by_role("region", name="Changes of stock")).to_contain_text("<img src=x onerror=")

    (change,) = stock.changes(things.stack, sku)
    assert (change["by"], change["reason"], change["pieces"]) == ("ann", HOSTILE, 5)
    assert page.title() == f"Stock of {sku} · Stepwise"


def test_stock_is_set_as_counted_and_a_repeated_change_applies_once(page: Page, things: Things) -> None:
    sku = things.sku(10)
    for sentence in (f"{sku}: 10 -> 7 pieces on hand.", "Changed nothing: made before"):
        page.goto(f"/stock/{sku}")
        page.get_by_role("link", name="Set").click()
        confirm(page, Pieces="7", Why="count of today")
        told(page, sentence)

    assert stock.on_hand(things.stack)[sku] == 7


def test_new_sku_gets_its_first_pieces(page: Page, things: Things) -> None:
    sku = new("sku")
    page.goto("/stock")
    page.get_by_role("link", name="Stock a SKU").click()
    confirm(page, SKU=sku, Pieces="3", Why="delivery 1")
    told(page, f"{sku}: 0 -> 3 pieces on hand.")
    page.get_by_label("SKU contains").fill(sku)
    page.get_by_role("button", name="Show").click()

    expect(page.get_by_role("region", name="Stock on hand").locator("tbody tr")).to_have_count(1)
    assert stock.on_hand(things.stack)[sku] == 3


def test_invalid_change_writes_nothing_and_keeps_the_input(page: Page, things: Things) -> None:
    sku = things.sku(10)
    page.goto(f"/changes/add-stock?sku={sku}")
    page.get_by_label("Pieces").fill("0")
    page.get_by_label("Why").fill("delivery 2")
    page.get_by_role("button", name="Add stock").click()
    refused(page, "pieces: Expected `int` >= 1")
    expect(page.get_by_label("Why")).to_have_value("delivery 2")
    page.get_by_label("Pieces").fill("1" + "0" * 30)
    page.get_by_role("button", name="Add stock").click()
    refused(page, "pieces: Expected `int` <= 1000000000")

    assert stock.changes(things.stack, sku) == []


def test_sale_updates_the_page_without_a_reload(page: Page, things: Things) -> None:
    order = things.order(quantity=3)
    sku = order["items"][0]["sku"]
    page.goto(f"/stock/{sku}")
    expect(page.locator("main")).to_contain_text("10 pieces on hand")
    page.evaluate("window.kept = true")
    things.placed(order)

    expect(page.locator("main")).to_contain_text("7 pieces on hand")
    assert page.evaluate("window.kept")
