"""Commands: keys that need a person, the chain of a key's versions, and its decisions."""

import re

from playwright.sync_api import Page, expect

from stepwise.operations import commands
from stepwise.operations.commands import name_of
from tests.browser.asking import confirm, told
from tests.browser.things import HOSTILE, Things


def test_key_shows_who_waits_for_whom_and_a_retry_resumes_it(page: Page, things: Things) -> None:
    key = things.blocked_key()
    page.goto("/commands?show=blocked")
    page.get_by_role("row", name=name_of(key)).get_by_role("link", name=name_of(key)).click()
    chain = page.get_by_role("list", name="Versions, the oldest first").get_by_role("listitem")
    expect(chain.nth(0)).to_contain_text("dead: blocks the key")
    expect(chain.nth(1)).to_contain_text("waits for 1")
    page.get_by_role("link", name="Retry").first.click()
    confirm(page, Why=HOSTILE)

    told(page, "Retried version 1")
    expect(chain.nth(1)).to_contain_text("done", timeout=60_000)
    expect(page.get_by_role("region", name="Decisions")).to_contain_text("<img src=x onerror=")
    assert page.title().startswith(f"Key {name_of(key)}")
    assert commands.view(things.stack, key).gate.finished == 2


def test_dead_version_is_skipped_in_the_name_of_a_person(page: Page, things: Things) -> None:
    key = things.blocked_key()
    page.goto("/commands")
    row = page.get_by_role("row", name=name_of(key))
    row.get_by_role("link", name="Skip").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"Skips version 1 of {name_of(key)} for good")
    confirm(page, Why="never wanted", **{"Done by": "ann"})

    told(page, "Skipped version 1")
    (_, decision), *_ = commands.view(things.stack, key).decisions
    assert (decision.by, decision.reason) == ("ann", "never wanted")


def test_decision_without_a_reason_is_rejected(page: Page, things: Things) -> None:
    key = things.blocked_key()
    page.goto(f"/changes/retry-command?key={key.pk.removeprefix('TENANT#')}/{key.sk.replace('#', '%23')}")
    page.get_by_label("Why").evaluate("(field) => field.removeAttribute('required')")
    page.get_by_role("button", name="Retry dead versions").click()

    expect(page.locator(".error")).to_contain_text("reason: this field is required")
    assert commands.view(things.stack, key).gate.blocked


def test_lagging_target_is_rebuilt(page: Page, things: Things) -> None:
    key = things.lagging_key()
    page.goto("/commands?show=lagging")
    page.get_by_role("row", name=name_of(key)).get_by_role("link", name="Rebuild").click()
    confirm(page)

    told(page, "catalog shows version 1")
    expect(page.get_by_role("row", name=name_of(key))).to_have_count(0)
    assert not commands.view(things.stack, key).gate.lagging


def test_key_is_found_by_name_and_links_to_the_run_of_a_version(page: Page, things: Things) -> None:
    key = things.blocked_key()
    page.goto("/commands")
    page.get_by_role("textbox", name="Key").fill(name_of(key))
    page.get_by_role("button", name="Show").click()
    page.get_by_role("link", name=name_of(key)).first.click()
    page.get_by_role("link", name="Run of version 1").click()

    expect(page).to_have_url(re.compile("/runs/Command/"))
    expect(page.locator("main")).to_contain_text("FAILED")


def test_key_without_versions_is_reported(page: Page) -> None:
    page.goto("/commands/tenant1/PRODUCT%23nothing")
    expect(page.locator("main")).to_contain_text("nothing was published for tenant1/PRODUCT#nothing")
    page.goto("/commands?key=nonsense")
    expect(page.locator("main")).to_contain_text("sk:")
