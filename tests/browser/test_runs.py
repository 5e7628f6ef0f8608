"""Runs of all machines: filters in the address, live, a page at a time."""

import re
import time

from playwright.sync_api import Page, expect

from stepwise.operations import approvals, orders
from tests.browser.things import HOSTILE, Things, new


def test_run_is_found_by_its_business_key(page: Page, things: Things) -> None:
    order = things.placed()
    page.goto("/runs")
    page.get_by_label("Business key").fill(order)
    page.get_by_role("button", name="Show").click()

    expect(page.locator("tbody tr")).to_have_count(1)
    expect(page.locator("tbody tr")).to_contain_text("SUCCEEDED")
    expect(page).to_have_url(re.compile(f"name={order}"))


def test_runs_are_filtered_by_machine_status_and_time(page: Page, things: Things) -> None:
    declined = things.order(payment={"method": "card", "token": "tok_declined"})
    failed, succeeded = things.placed(declined), things.placed()
    page.goto("/runs?machine=OrderSaga&status=FAILED")
    expect(page.get_by_role("link", name=failed)).to_have_count(1)
    expect(page.get_by_role("link", name=succeeded)).to_have_count(0)

    page.get_by_label("Status").select_option("not succeeded")
    page.get_by_role("button", name="Show").click()
    expect(page.get_by_role("link", name=failed)).to_have_count(1)

    page.goto("/runs?machine=Command")
    expect(page.get_by_role("link", name=failed)).to_have_count(0)
    page.goto("/runs?before=2020-01-01T00:00:00")
    expect(page.locator("tbody")).to_contain_text("No run fits.")
    page.goto("/runs?since=2099-01-01")
    expect(page.locator("tbody")).to_contain_text("No run fits.")


def test_new_run_appears_within_half_a_second(page: Page, things: Things) -> None:
    page.goto("/runs")
    page.wait_for_timeout(1500)
    seconds = []
    for _ in range(5):
        document = things.order()
        orders.place(things.stack, document)
        began = time.monotonic()
        page.locator("tbody tr").filter(has_text=document["order_id"]).wait_for(timeout=20_000)
        seconds.append(time.monotonic() - began)
        orders.ended(things.stack, document["order_id"])

    assert sorted(seconds)[2] < 0.5, seconds


def test_end_of_a_run_is_shown_without_a_reload(page: Page, things: Things) -> None:
    own = things.application_in_review()
    page.goto(f"/runs?machine=AccountOpening&name={own}")
    mine = page.locator("tbody tr")
    expect(mine).to_contain_text("RUNNING")
    page.evaluate("window.same = true")
    expect(mine.locator("[aria-hidden]")).to_have_text("●")
    approvals.decide(things.stack, things.review(own), "reject", "ada")

    expect(mine).to_contain_text("SUCCEEDED", timeout=120_000)
    assert page.evaluate("window.same") is True


def test_focus_stays_while_rows_arrive(page: Page, things: Things) -> None:
    order = things.placed()
    page.goto("/runs")
    page.get_by_role("link", name=order).focus()
    later = things.placed()
    expect(page.get_by_role("link", name=later)).to_have_count(1)

    assert page.evaluate("document.activeElement.textContent") == order


def test_older_runs_are_a_page_away(page: Page, things: Things) -> None:
    name = new("many")
    arn = things.stack.outputs["OrderSagaArn"]
    for number in range(55):
        things.stack.stepfunctions.start_execution(stateMachineArn=arn, name=f"{name}-{number}", input="{}")
    page.goto(f"/runs?machine=OrderSaga&name={name}")
    expect(page.locator("tbody tr")).to_have_count(50)
    for number in range(55):
        orders.ended(things.stack, f"{name}-{number}")
    page.reload()
    page.get_by_role("link", name="Older runs").click()

    expect(page.locator("tbody tr")).to_have_count(5, timeout=60_000)


def test_invalid_filter_says_what_is_allowed(page: Page) -> None:
    page.goto("/runs?status=LOST")
    expect(page.locator("main")).to_contain_text("status: 'LOST' is none of RUNNING, SUCCEEDED")
    page.goto("/runs?since=yesterday")
    expect(page.locator("main")).to_contain_text("since: 'yesterday' is no time (ISO 8601)")


def test_script_in_a_filter_is_shown_as_text(page: Page) -> None:
    page.goto("/runs")
    page.get_by_label("Business key").fill(HOSTILE)
    page.get_by_role("button", name="Show").click()

    expect(page.get_by_label("Business key")).to_have_value(HOSTILE)
    expect(page).to_have_title("Runs · Stepwise")


def test_unknown_run_is_reported(page: Page) -> None:
    for address, sentence in (
        ("/runs/OrderSaga/no-such-run", "there is no execution no-such-run"),
        ("/runs/NoMachine/x", "the stack has no machine NoMachine"),
    ):
        answer = page.goto(address)
        assert answer
        assert answer.status == 404
        expect(page.locator("main")).to_contain_text(sentence)
