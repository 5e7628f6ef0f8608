"""Orders: the list, one with its money, runs and records, and its recovery."""

import re
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from stepwise.local.simulators.payment_gateway.client import GatewayClient
from stepwise.operations import orders
from tests.browser.asking import confirm, told
from tests.browser.things import HOSTILE, Things, new


@pytest.fixture(scope="module")
def confirmed(things: Things) -> str:
    return things.placed()


@pytest.fixture(scope="module")
def declined(things: Things) -> str:
    return things.placed(things.order(payment={"method": "card", "token": "tok_declined"}))


@pytest.fixture(scope="module")
def refunded(things: Things) -> str:
    """An order that was charged, then refunded, because there was too little stock."""
    return things.placed(things.order(quantity=11))


def test_orders_are_listed_and_link_to_their_pages(page: Page, confirmed: str) -> None:
    page.goto("/orders")
    row = page.get_by_role("row", name=confirmed)
    expect(row).to_contain_text("Confirmed")
    expect(row).to_contain_text("3,000 JPY")
    row.get_by_role("link", name=confirmed).click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Order {confirmed}")


def test_filters_are_in_the_url(page: Page, confirmed: str, refunded: str) -> None:
    page.goto("/orders")
    page.get_by_label("Status").select_option("Pending")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("status=Pending"))
    expect(page.get_by_role("row", name=refunded)).to_be_visible()
    expect(page.get_by_role("row", name=confirmed)).to_have_count(0)
    page.reload()
    expect(page.get_by_label("Status")).to_have_value("Pending")

    page.goto(f"/orders?order_id={confirmed}")
    expect(page.get_by_role("row", name=confirmed)).to_be_visible()
    expect(page.get_by_role("row", name=refunded)).to_have_count(0)


def test_failed_sagas_are_listed_with_their_cause(page: Page, declined: str) -> None:
    page.goto("/orders")
    page.get_by_label("Failed sagas").check()
    page.get_by_role("button", name="Show").click()

    expect(page.get_by_role("row", name=declined)).to_contain_text("PaymentDeclined")


def test_unknown_filter_is_rejected_with_an_explanation(page: Page) -> None:
    answer = page.goto("/orders?status=Lost")
    assert answer
    assert answer.status == 422
    expect(page.locator("main")).to_contain_text("status: 'Lost' is none of New, Confirmed, Pending")


def test_older_orders_are_on_the_next_page(page: Page, things: Things) -> None:
    """The orders are rows of a day long ago."""
    at, table = datetime.now(UTC) - timedelta(days=60), things.stack.outputs["OrdersTable"]
    own = new("old")
    for number in range(60):
        moment = at + timedelta(seconds=number)
        row = {"order_id": f"{own}-{number:02}", "status": "Confirmed", "created_at": moment.isoformat()}
        row |= {"created_ymd": moment.date().isoformat(), "currency": "JPY"}
        item: Any = {name: {"S": value} for name, value in row.items()} | {"items": {"L": []}}
        # Without a revision, each row would hold up the reports.
        item |= {"total": {"N": "100"}, "revision": {"N": "1"}}
        things.stack.dynamodb.put_item(TableName=table, Item=item)
    page.goto("/orders?since=90+days&status=Confirmed")
    seen: list[str] = []
    for _ in range(10):
        seen += page.locator("tbody th a").all_inner_texts()
        if not page.get_by_role("link", name="Older orders").is_visible():
            break
        page.get_by_role("link", name="Older orders").click()
        page.wait_for_load_state()

    ours = [one for one in seen if one.startswith(own)]
    assert ours == [f"{own}-{number:02}" for number in reversed(range(60))]
    assert len(seen) == len(set(seen))


def test_order_shows_its_rows_records_and_runs(page: Page, confirmed: str) -> None:
    page.goto(f"/orders/{confirmed}")
    for step in ("ProcessOrder", "ProcessPayment", "ReserveInventory"):
        expect(page.get_by_role("row", name=step)).to_contain_text("COMMITTED")
    expect(page.locator("article", has_text="Reservation")).to_contain_text("2 x sku-")
    page.get_by_role("link", name="saga").click()

    expect(page).to_have_url(re.compile(f"/runs/OrderSaga/{confirmed}"))


def test_gateway_balance_of_an_order_matches_its_row(page: Page, confirmed: str) -> None:
    page.goto(f"/orders/{confirmed}")
    expect(page.locator(".answer.good")).to_contain_text("The gateway holds 3,000 JPY, as the payment's row says.")
    expect(page.get_by_role("region", name="The gateway's ledger")).to_contain_text("succeeded")
    page.get_by_role("link", name="Its lease").click()

    expect(page.get_by_role("row", name=confirmed)).to_contain_text("ChargeCard")


@pytest.mark.parametrize(
    ("which", "sentence"),
    [
        ("refunded", "The gateway took 16,500 JPY and gave it back."),
        ("declined", "No money has moved at the gateway."),
    ],
)
def test_money_not_held_is_shown_nowhere(page: Page, request: pytest.FixtureRequest, which: str, sentence: str) -> None:
    page.goto(f"/orders/{request.getfixturevalue(which)}")

    expect(page.locator("section", has_text="Where is the money?")).to_contain_text(sentence)


def test_money_missing_from_the_rows_is_an_alarm(page: Page, things: Things, confirmed: str) -> None:
    """Somebody refunds it at the gateway, without recording it."""
    own = things.placed()
    gateway = GatewayClient(things.stack.services["gateway"])
    (key,) = [charge["key"] for charge in gateway.ledger()["charges"] if charge["order_id"] == own]
    secret = things.stack.client("secretsmanager").get_secret_value(SecretId="payment-gateway")["SecretString"]
    GatewayClient(gateway.address, secret=secret).cancel(key)
    page.goto(f"/orders/{own}")

    expect(page.locator(".answer.bad")).to_contain_text("The gateway holds 0 JPY; by the payment's row it is 3,000 JPY")


def test_running_order_is_followed_without_a_reload(page: Page, things: Things) -> None:
    with things.order_that_runs() as own:
        page.goto(f"/orders/{own}")
        expect(page.get_by_role("row", name="saga")).to_contain_text("RUNNING")
        page.evaluate("window.kept = true")
    expect(page.get_by_role("row", name="saga")).to_contain_text("SUCCEEDED")
    expect(page.locator(".answer.good")).to_contain_text("The gateway holds")

    assert page.evaluate("window.kept")


def test_stuck_order_is_recovered_by_its_button(page: Page, things: Things) -> None:
    own = things.order_not_undone()
    page.goto(f"/orders/{own}")
    expect(page.locator("main")).to_contain_text("Not undone: ProcessOrder, ProcessPayment")
    expect(page.locator("section", has_text="Where is the money?")).to_contain_text("The gateway holds 16,500 JPY")
    page.get_by_role("link", name="Recover the order").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"recover {own}")
    confirm(page)

    told(page, f"of order {own} runs")
    expect(page.get_by_role("row", name="recovery 2")).to_contain_text("SUCCEEDED", timeout=60_000)
    expect(page.locator("section", has_text="Where is the money?")).to_contain_text("gave it back", timeout=60_000)
    assert orders.view(things.stack, own).payment["status"] == "Refunded"  # type: ignore[index]


def test_good_order_is_not_recovered_and_the_dialog_says_why(page: Page, confirmed: str) -> None:
    page.goto(f"/changes/recover-order?order_id={confirmed}")
    page.get_by_role("button", name="Recover the order").click()

    expect(page.get_by_role("alert").filter(has_text="succeeded")).to_contain_text(f"order {confirmed} has succeeded")


def test_no_order_page_shows_the_card_token(page: Page, confirmed: str) -> None:
    page.goto(f"/orders/{confirmed}")

    assert "tok_visa" not in page.content()
    assert page.title() == f"Order {confirmed} · Stepwise"


def test_customer_text_runs_no_script(page: Page, things: Things) -> None:
    own = things.refused_order(customer_id=HOSTILE, currency=HOSTILE)
    for address in ("/orders?failed=yes", f"/orders/{own}", f"/runs/OrderSaga/{own}"):
        page.goto(address)
        expect(page.locator("main")).to_contain_text(own)
        assert "attacked" not in page.title()
        assert page.locator("main img").count() == 0


def test_unknown_order_is_reported(page: Page) -> None:
    answer = page.goto("/orders/no-such-order")
    assert answer
    assert answer.status == 404
    expect(page.locator("main")).to_contain_text("there is no order no-such-order")
