"""One run: its graph, timeline and states, and related rows."""

import json
import re
from urllib.parse import quote

import pytest
from playwright.sync_api import Locator, Page, expect

from stepwise.operations import approvals, orders
from stepwise.operations.commands import name_of
from tests.browser.things import HOSTILE, Things


def state(page: Page, name: str) -> Locator:
    """A state's box in the graph."""
    return page.locator(f"svg.graph a[data-key='{name}']")


def declined(things: Things) -> str:
    return things.placed(things.order(payment={"method": "card", "token": "tok_declined"}))


def test_graph_also_says_what_happened_in_words(page: Page, things: Things) -> None:
    page.goto(f"/runs/OrderSaga/{declined(things)}")

    for name, told in (
        ("ProcessOrder", "done"),
        ("ProcessPayment", "failed, PaymentDeclined"),
        ("ReserveInventory", "not reached"),
        ("ProcessRefund", "done"),
        ("OrderFailed", "failed"),
    ):
        expect(state(page, name)).to_have_attribute("aria-label", f"{name}, {_kind(name)}: {told}")


def _kind(name: str) -> str:
    return "Fail" if name == "OrderFailed" else "Task"


def test_caught_error_is_on_its_edge(page: Page, things: Things) -> None:
    page.goto(f"/runs/OrderSaga/{declined(things)}")

    expect(page.locator("svg.graph .caught-error")).to_have_text("PaymentDeclined")
    expect(page.locator("svg.graph .way.taken.error")).to_have_count(1)


def test_state_shows_input_output_attempts_cause_and_log_lines(page: Page, things: Things) -> None:
    order = declined(things)
    page.goto(f"/runs/OrderSaga/{order}")
    state(page, "ProcessPayment").click()
    panel = page.locator("#state")

    expect(panel.get_by_role("heading", name="ProcessPayment")).to_be_focused()
    expect(panel).to_contain_text("PaymentDeclined: the card was declined")
    expect(panel.get_by_role("region", name="Input of ProcessPayment")).to_contain_text(order)
    expect(panel.get_by_role("region", name="Output of ProcessPayment")).to_contain_text("PaymentDeclined")
    expect(panel.get_by_role("region", name="Attempts").locator("tbody tr")).to_have_count(1)
    lines = panel.get_by_role("region", name="Log lines of ProcessPayment")
    expect(lines).to_contain_text(f"order_id={order}", timeout=30_000)
    assert all(order in line for line in lines.inner_text().strip().splitlines())


def test_state_is_selected_by_keyboard(page: Page, things: Things) -> None:
    page.goto(f"/runs/OrderSaga/{things.placed()}")
    state(page, "ReserveInventory").focus()
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", name="ReserveInventory")).to_be_focused()
    page.go_back()
    expect(page.get_by_role("heading", name="State", exact=True)).to_be_visible()


def test_state_opens_without_scripts(page: Page, things: Things) -> None:
    page.goto(f"/runs/OrderSaga/{things.placed()}?state=ProcessOrder")

    expect(page.get_by_role("heading", name="ProcessOrder")).to_be_visible()


def test_timeline_has_a_row_for_each_state(page: Page, things: Things) -> None:
    page.goto(f"/runs/OrderSaga/{things.placed()}")
    table = page.get_by_role("table", name="Timeline")

    names = table.get_by_role("rowheader").all_inner_texts()
    assert [name.split()[-1] for name in names] == [
        *("ProcessOrder", "ProcessPayment", "ReserveInventory", "sns:NotifySuccess", "OrderSucceeded")
    ]
    table.get_by_role("link", name="ProcessPayment").click()
    expect(page.get_by_role("heading", name="ProcessPayment")).to_be_focused()


def test_saga_shows_its_recovery_and_finalization(page: Page, things: Things) -> None:
    order = things.order_not_undone()
    page.goto(f"/runs/OrderSaga/{order}")

    expect(page.locator("#live_head")).to_contain_text("not undone: ProcessOrder, ProcessPayment")
    page.get_by_role("link", name=f"OrderRecovery {order}").click()
    expect(page.get_by_role("heading", level=1)).to_have_text(order)
    expect(page.get_by_role("link", name=f"OrderSaga {order}")).to_be_visible()
    expect(state(page, "ProcessRefund").locator(".count")).to_contain_text("×")


def test_run_links_to_its_order(page: Page, things: Things) -> None:
    order = things.placed()
    page.goto(f"/runs/OrderSaga/{order}")
    page.locator("#live_head").get_by_role("link", name=order, exact=True).click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Order {order}")


def test_watched_run_continues(page: Page, things: Things) -> None:
    own = things.application_in_review()
    page.goto(f"/runs/AccountOpening/{own}")
    expect(page.locator("#live_head")).to_contain_text("RUNNING")
    page.get_by_text("Input and output").click()
    expect(state(page, "Wait For Review")).to_have_attribute("aria-label", "Wait For Review, Task: waiting")
    approvals.decide(things.stack, things.review(own), "reject", "ada")

    expect(page.locator("#live_head")).to_contain_text("SUCCEEDED", timeout=120_000)
    expect(state(page, "Reject Application")).to_have_attribute("aria-label", "Reject Application, Task: done")
    # Sections that a person opened stay open.
    expect(page.get_by_role("region", name="Output of the run")).to_be_visible()


def test_map_counts_its_items(page: Page, things: Things) -> None:
    key = things.task("here", "never", "nowhere")
    page.goto(f"/runs?name={key.tenant_code}/{key.task_id}")
    page.get_by_role("link", name=f"{key.tenant_code}/{key.task_id}").click()

    # A failed item is an outcome: the iteration itself succeeds.
    expect(state(page, "map_state")).to_have_attribute(
        "aria-label", "map_state, Map: done, 3 done / 0 failed / 0 running / of 3"
    )
    state(page, "iterator").click()
    expect(page.locator(".visits a")).to_have_count(3)
    page.locator(".visits a", has_text="item 1").click()
    expect(page.locator(".visits a[aria-current]")).to_contain_text("item 1")


def test_map_with_a_failed_item_says_so(page: Page, things: Things) -> None:
    key = name_of(things.blocked_key())
    page.goto(f"/runs?status=FAILED&name={quote(key)}@1")
    page.get_by_role("link", name=f"{key}@1").click()

    expect(state(page, "sync_data_all")).to_have_attribute(
        "aria-label", re.compile("Map: failed, 0 done / [12] failed")
    )
    expect(page.locator("svg.graph .caught-error").first).to_be_visible()


def test_map_run_counts_its_items(page: Page, things: Things, tmp_path_factory: pytest.TempPathFactory) -> None:
    key = things.imported(tmp_path_factory.mktemp("rows"), *range(30), processing_mode="STEP_FUNCTION")
    page.goto(f"/runs/ImportCsv/{key.import_id}")

    expect(state(page, "import-csv")).to_have_attribute(
        "aria-label", "import-csv, Map: done, 30 done / 0 failed / 0 running / of 30"
    )


def test_concurrent_branches_have_their_own_events(page: Page, things: Things) -> None:
    own = things.application("Barbara Liskov")
    page.goto(f"/runs/AccountSetup/{own}")

    for name in ("Open Account", "Post Opening Bonus", "Issue Card", "Activate Card", "Mark Approved"):
        expect(state(page, name)).to_have_attribute("aria-label", f"{name}, Task: done")
    page.get_by_role("link", name=f"AccountOpening {own}").click()
    for name in ("Check Identity", "Check Address", "Check Fraud Model"):
        expect(state(page, name)).to_have_attribute("aria-label", f"{name}, Task: done")


def test_no_secret_of_a_run_is_shown(page: Page, things: Things) -> None:
    name = "Katherine Johnson"
    waiting = things.application_in_review(name)
    secret = things.order(payment={"method": "card", "token": "tok_in_private"})
    orders.place(things.stack, secret)
    orders.ended(things.stack, secret["order_id"])
    shown = []
    for address in (
        f"/runs/AccountOpening/{waiting}?state=Wait%20For%20Review",
        f"/runs/OrderSaga/{secret['order_id']}?state=ProcessPayment",
        f"/runs/OrderSaga/{secret['order_id']}?state=OrderFailed",
    ):
        page.goto(address)
        page.wait_for_timeout(1000)
        shown.append(page.content())
    parameters = _tokens(things, waiting)

    assert parameters
    assert not [one for one in (*parameters, name, "tok_in_private") if any(one in text for text in shown)]


def _tokens(things: Things, application: str) -> list[str]:
    """The callback tokens in the history of an application."""
    arn = things.stack.outputs["AccountOpeningArn"].replace(":stateMachine:", ":execution:")
    pages = things.stack.stepfunctions.get_paginator("get_execution_history").paginate(
        executionArn=f"{arn}:{application}"
    )
    scheduled = [event.get("taskScheduledEventDetails") for page in pages for event in page["events"]]
    found = [json.loads(one["parameters"]).get("Payload", {}).get("token") for one in scheduled if one]
    return [token for token in found if token]


def test_script_in_an_input_is_shown_as_text(page: Page, things: Things) -> None:
    order = things.order(customer_id=HOSTILE, items=[{"sku": HOSTILE, "quantity": 1, "unit_price": 1}])
    arn, name = things.stack.outputs["OrderSagaArn"], order["order_id"]
    things.stack.stepfunctions.start_execution(stateMachineArn=arn, name=name, input=json.dumps(order))
    orders.ended(things.stack, name)
    page.goto(f"/runs/OrderSaga/{name}?state=ProcessOrder")
    page.get_by_text("Input and output").click()

    expect(page.get_by_role("region", name="Input of the run")).to_contain_text("<img src=x")
    expect(page).to_have_title(f"{name} · Stepwise")
    assert page.locator("main img, main script").count() == 0
