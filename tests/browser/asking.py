"""Dialogs that ask, and the message that reports a change."""

from playwright.sync_api import Page, expect


def confirm(page: Page, **fields: str) -> None:
    """Fill in the fields of the open dialog, by their labels, and confirm it."""
    dialog = page.get_by_role("dialog")
    for label, value in fields.items():
        field = dialog.get_by_label(label)
        if field.evaluate("(one) => one.localName") == "select":
            field.select_option(value)
        else:
            field.fill(value)
    dialog.locator("button").click()


def told(page: Page, sentence: str) -> None:
    """Check that the page reports the change."""
    expect(page.locator(".told")).to_contain_text(sentence, timeout=60_000)


def refused(page: Page, sentence: str) -> None:
    """Check that the form says why nothing was done."""
    expect(page.locator(".error")).to_contain_text(sentence, timeout=60_000)
