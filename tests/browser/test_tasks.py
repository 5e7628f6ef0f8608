"""Tasks: the list, the failed items, and their retry."""

import re

import pytest
from playwright.sync_api import Page, expect

from stepwise.operations import commands, tasks
from stepwise.operations.tasks import name_of
from tasks.state import TaskKey
from tests.browser.asking import confirm, told
from tests.browser.things import Things
from tests.kit.deployed_commands import product


@pytest.fixture(scope="module")
def failed(things: Things) -> TaskKey:
    """A task with two of three items failed."""
    return things.task("here", "late", "never")


def test_tasks_of_a_tenant_are_listed_by_status(page: Page, failed: TaskKey) -> None:
    page.goto(f"/tasks?tenant={failed.tenant_code}&status=COMPLETED_WITH_FAILURES")
    expect(page.get_by_role("row", name=name_of(failed))).to_contain_text("COMPLETED_WITH_FAILURES")
    page.get_by_label("Status").select_option("COMPLETED")
    page.get_by_role("button", name="Show").click()

    expect(page).to_have_url(re.compile("status=COMPLETED"))
    expect(page.get_by_role("row", name=name_of(failed))).to_have_count(0)


def test_failed_items_are_retried_by_button(page: Page, things: Things, failed: TaskKey) -> None:
    page.goto(f"/tasks/{failed.tenant_code}/{failed.task_id}")
    items = page.get_by_role("region", name="Items").get_by_role("row")
    expect(items.nth(1)).to_contain_text("FAILED")
    commands.publish(things.stack, product(failed.tenant_code, "late", mode="sync"))
    page.get_by_role("link", name="Retry the failed items").click()
    confirm(page)
    told(page, f"2 failed items of {name_of(failed)} run again")
    expect(page.get_by_role("listitem").filter(has_text="Attempt 1")).to_contain_text("2 failed", timeout=60_000)
    page.get_by_role("listitem").filter(has_text="Run:").get_by_role("link").click()
    expect(page).to_have_url(re.compile("/runs/Task/"))

    *_, seen = tasks.follow(things.stack, failed)
    assert (seen.task.attempt, len(seen.failed)) == (2, 1)


def test_status_requires_a_tenant(page: Page) -> None:
    page.goto("/tasks?status=FAILED")

    expect(page.locator("main")).to_contain_text("status: needs a tenant")


def test_unknown_task_is_reported(page: Page) -> None:
    page.goto("/tasks/tenant1/nothing")

    expect(page.locator("main")).to_contain_text("tenant1/nothing: no such task of this tenant")
