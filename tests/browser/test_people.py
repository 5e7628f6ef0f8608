"""Approvals and applications: a decision with a comment, and nothing about who applies."""

import re

import pytest
from playwright.sync_api import Page, expect

from approvals.errors import AlreadyDecided
from stepwise.operations import applications, approvals
from tests.browser.asking import confirm, refused, told
from tests.browser.things import HOSTILE, Things
from tests.kit.injection import eventually

NAME = "Grace Brewster Hopper"


def test_approval_takes_a_comment_and_links_to_its_application(page: Page, things: Things) -> None:
    own = things.application_in_review(NAME)
    page.goto("/approvals")
    row = page.get_by_role("row", name=things.review(own))
    row.get_by_role("link", name=things.review(own)).click()
    expect(page.locator("main")).to_contain_text("WAITING")
    page.get_by_role("link", name="Approve").click()
    confirm(page, Comment=HOSTILE, **{"Done by": "ann"})
    told(page, "is APPROVED, decided by ann")
    expect(page.locator("main")).to_contain_text("Took effect: yes", timeout=60_000)
    expect(page.locator("main")).to_contain_text("<img src=x onerror=")
    assert "attacked" not in page.title()
    page.get_by_role("listitem").filter(has_text="Application:").get_by_role("link").click()

    expect(page.locator("main")).to_contain_text("APPROVED", timeout=120_000)
    expect(page.locator("main")).to_contain_text("DocumentMissing")
    assert approvals.view(things.stack, things.review(own)).values["comment"] == HOSTILE


def test_rejection_from_the_list_ends_the_application(page: Page, things: Things) -> None:
    own = things.application_in_review()
    page.goto("/approvals?group=account-opening")
    page.get_by_role("row", name=things.review(own)).get_by_role("link", name="Reject").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"Rejects application {own}")
    confirm(page, Comment="no document")
    told(page, "is REJECTED")
    expect(page.get_by_role("row", name=things.review(own))).to_have_count(0)

    eventually(lambda: applications.view(things.stack, own).decided)
    assert applications.view(things.stack, own).status == "REJECTED"


def test_second_decision_is_rejected_with_the_message_of_the_command_line(page: Page, things: Things) -> None:
    own = things.review(things.application_in_review())
    page.goto(f"/changes/reject-approval?approval_id={own}")
    approvals.decide(things.stack, own, "approve", "ann")
    page.get_by_role("button", name="Reject").click()

    with pytest.raises(AlreadyDecided, match="APPROVED") as same:
        approvals.decide(things.stack, own, "reject", "bob")
    refused(page, str(same.value))


def test_no_page_says_who_applies(page: Page, things: Things) -> None:
    own = things.application_in_review(NAME)
    for path in ("/applications", f"/applications/{own}", "/approvals", f"/approvals/{things.review(own)}"):
        page.goto(path)
        expect(page.locator("main")).to_contain_text(own)
        for secret in (*NAME.split(), "1990-12-10", "Elm Street"):
            assert secret not in page.content()


def test_applications_are_listed_by_status_and_link_to_their_runs(page: Page, things: Things) -> None:
    own = things.application("Ada Lovelace")
    page.goto("/applications")
    page.get_by_label("Status").select_option("APPROVED")
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile("status=APPROVED"))
    page.get_by_role("row", name=own).get_by_role("link").click()
    expect(page.get_by_role("row", name="saga")).to_contain_text("SUCCEEDED")
    page.get_by_role("listitem").filter(has_text="Run of the opening").get_by_role("link").click()

    expect(page).to_have_url(re.compile(f"/runs/AccountOpening/{own}"))


def test_stuck_setup_is_recovered_by_its_button(page: Page, things: Things) -> None:
    own = things.application_not_undone()
    page.goto("/attention?context=applications")
    page.locator("article.concern", has_text=own).get_by_role("link", name="Recover").click()
    confirm(page)
    told(page, f"of application {own} runs")
    page.goto(f"/applications/{own}")

    expect(page.get_by_role("row", name="recovery 2")).to_contain_text("SUCCEEDED", timeout=120_000)
    eventually(lambda: not applications.view(things.stack, own).standing)
