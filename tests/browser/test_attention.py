"""The inbox: every concern with its cause, its command, its page and its buttons."""

from collections.abc import Iterator

import pytest
from playwright.sync_api import Locator, Page, expect

from entities.command import Key
from stepwise import STACK_NAME
from stepwise.operations import commands, queues
from stepwise.operations.commands import name_of
from tests.browser.asking import confirm, told
from tests.browser.things import HOSTILE, Things


@pytest.fixture(scope="module")
def blocked(things: Things) -> Iterator[Key]:
    key = things.blocked_key()
    yield key
    if commands.view(things.stack, key).gate.blocked:
        commands.retry(things.stack, key, "made by a test")


@pytest.fixture(scope="module")
def abandoned(things: Things) -> str:
    return things.abandoned_lease()


def entry(page: Page, name: str) -> Locator:
    return page.locator("article.concern", has_text=name)


def test_concerns_of_all_contexts_have_a_cause_a_command_and_a_page(
    page: Page, things: Things, blocked: Key, abandoned: str
) -> None:
    page.goto("/attention")
    of_key, of_lease = entry(page, name_of(blocked)), entry(page, abandoned)
    expect(of_key).to_contain_text("version 1 is dead; 1 wait for it")
    expect(of_key).to_contain_text("commands retry")
    expect(of_lease).to_contain_text("unknown: its lease expired, so its owner crashed")
    of_lease.get_by_role("link", name=abandoned).click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Leases of {abandoned}")


def test_concerns_can_be_filtered_by_context(page: Page, blocked: Key, abandoned: str) -> None:
    page.goto("/attention")
    page.get_by_role("link", name="work", exact=True).click()

    expect(entry(page, abandoned)).to_be_visible()
    expect(entry(page, name_of(blocked))).to_have_count(0)


def test_button_runs_the_command_and_the_concern_goes_away(page: Page, things: Things, blocked: Key) -> None:
    page.goto("/attention")
    entry(page, name_of(blocked)).get_by_role("link", name="Retry").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"commands retry '{name_of(blocked)}'")
    confirm(page, Why=HOSTILE)

    told(page, "Retried version 1")
    expect(entry(page, name_of(blocked))).to_have_count(0, timeout=60_000)
    assert "attacked" not in page.title()
    *_, seen = commands.follow(things.stack, blocked, 2)
    assert seen.gate.finished == 2


def test_failed_messages_are_redriven(page: Page, things: Things) -> None:
    queue = things.failed_message()
    page.goto("/attention?context=queues")
    entry(page, queue).get_by_role("link", name="Send again").click()
    confirm(page)

    told(page, "sent 1 through again")
    assert queues.find(things.stack, STACK_NAME, queue).waiting == 0


def test_nothing_changes_until_confirmed(page: Page, things: Things) -> None:
    key = things.blocked_key()
    page.goto("/attention")
    entry(page, name_of(key)).get_by_role("link", name="Skip").click()
    page.get_by_role("dialog").get_by_role("link", name="Cancel").click()
    expect(page.get_by_role("dialog")).to_have_count(0)
    entry(page, name_of(key)).get_by_role("link", name="Skip").click()
    expect(page.get_by_role("dialog")).to_be_visible()
    page.keyboard.press("Escape")

    expect(page.get_by_role("dialog")).to_have_count(0)
    assert commands.view(things.stack, key).gate.blocked
