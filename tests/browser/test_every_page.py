"""Every page of things: accessible in light and dark, on a phone, and by keyboard; nothing that is not deployed."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Literal

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from stepwise.cli import hints
from stepwise.console.server import Server
from stepwise.console.settings import Settings
from stepwise.operations.commands import name_of
from stepwise.operations.stack import Stack
from tests.browser.things import Things

NAMES = (
    *(
        "runs",
        "run",
        "state",
        "orders",
        "failed sagas",
        "order",
        "attention",
        "imports",
        "import",
        "commands",
        "key",
        "approvals",
        "approval",
    ),
    *("applications", "application", "tasks", "task", "stock", "sku", "leases", "lease", "reports", "dialog"),
    "dialog of a long id",
)


@pytest.fixture(scope="module")
def addresses(things: Things, tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The address of each page, with content to see."""
    made = things.imported(tmp_path_factory.mktemp("files"), 100, "x")
    task, application = things.task("here", "never"), things.application_in_review()
    tenant, _, sk = name_of(things.blocked_key()).partition("/")
    order, sku, lease = things.placed(), things.sku(), things.abandoned_lease()
    found = {
        "runs": "/runs",
        "run": f"/runs/OrderSaga/{order}",
        "state": f"/runs/AccountOpening/{application}?state=Check%20Identity",
        "orders": "/orders",
        "failed sagas": "/orders?failed=yes",
        "order": f"/orders/{order}",
        "attention": "/attention",
        "imports": f"/imports?tenant={made.tenant_code}",
        "import": f"/imports/{made.tenant_code}/{made.import_id}",
        "commands": "/commands",
        "key": f"/commands/{tenant}/{sk.replace('#', '%23')}",
        "approvals": "/approvals",
        "approval": f"/approvals/{things.review(application)}",
        "applications": "/applications",
        "application": f"/applications/{application}",
        "tasks": f"/tasks?tenant={task.tenant_code}",
        "task": f"/tasks/{task.tenant_code}/{task.task_id}",
        "stock": "/stock",
        "sku": f"/stock/{sku}",
        "leases": "/leases",
        "lease": f"/leases/{lease}",
        "reports": "/reports",
        "dialog": f"/changes/resolve-lease?key={lease}&work=RunJob",
        "dialog of a long id": f"/changes/add-stock?sku={'s' * 64}",
    }
    assert set(found) == set(NAMES)
    return found


@contextmanager
def opened(browser: Browser, console: str, **options: Any) -> Iterator[Page]:
    context = browser.new_context(base_url=console, **options)
    try:
        yield context.new_page()
    finally:
        context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_no_violation(
    browser: Browser, console: str, addresses: dict[str, str], scheme: Literal["light", "dark"]
) -> None:
    found = {}
    with opened(browser, console, color_scheme=scheme) as page:
        for name, address in addresses.items():
            page.goto(address)
            page.wait_for_timeout(400)
            violations = Axe().run(page).response["violations"]
            found[name] = [(one["id"], [node["html"] for node in one["nodes"]][:3]) for one in violations]

    assert {name: violations for name, violations in found.items() if violations} == {}


@pytest.mark.parametrize(("width", "height"), [(360, 740), (3840, 2160)], ids=["phone", "4K"])
def test_no_page_scrolls_sideways(
    browser: Browser, console: str, addresses: dict[str, str], width: int, height: int
) -> None:
    wide = {}
    with opened(browser, console, viewport={"width": width, "height": height}) as page:
        for name, address in addresses.items():
            page.goto(address)
            page.wait_for_timeout(300)
            wide[name] = page.evaluate("document.documentElement.scrollWidth")

    assert {name: found for name, found in wide.items() if found > width} == {}


def test_every_link_leads_to_a_page(browser: Browser, console: str, addresses: dict[str, str]) -> None:
    hrefs = set[str]()
    with opened(browser, console) as page:
        for address in addresses.values():
            page.goto(address)
            page.wait_for_timeout(300)
            hrefs |= set(page.eval_on_selector_all("a[href]", "all => all.map((one) => one.getAttribute('href'))"))
        found = {href: page.request.get(href).status for href in hrefs if href.startswith("/")}

    assert {href: status for href, status in found.items() if status != 200} == {}


def test_change_needs_only_the_keyboard(page: Page, things: Things) -> None:
    sku = things.sku(10)
    page.goto(f"/stock/{sku}")
    link = page.get_by_role("link", name="Add")
    for _ in range(40):
        page.keyboard.press("Tab")
        if link.evaluate("(one) => one === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.get_by_role("dialog")).to_be_visible()
    for _ in range(20):
        focused = page.evaluate("document.activeElement.name || ''")
        if focused in ("pieces", "reason"):
            page.keyboard.type({"pieces": "5", "reason": "keyboard"}[focused])
        if page.evaluate("document.activeElement.localName === 'button' && !!document.activeElement.closest('dialog')"):
            break
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")

    expect(page.locator(".told")).to_contain_text(f"{sku}: 10 -> 15 pieces on hand.")


def test_lists_lead_to_details_by_keyboard(page: Page, addresses: dict[str, str]) -> None:
    page.goto(addresses["orders"])
    page.locator("tbody th a").first.focus()
    # A new order would appear above it.
    order = page.evaluate("document.activeElement.textContent")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Order {order}")


@pytest.mark.parametrize("name", NAMES)
def test_page_has_one_heading_landmarks_and_no_unlabelled_control(
    page: Page, addresses: dict[str, str], name: str
) -> None:
    page.goto(addresses[name])
    expect(page.get_by_role("heading", level=1)).to_have_count(1)
    for landmark in ("banner", "main", "navigation"):
        expect(page.get_by_role(landmark)).to_have_count(1)

    unlabelled = (
        "[...document.querySelectorAll('input:not([type=hidden]), select, textarea')].filter(f => !f.labels.length)"
    )
    assert page.evaluate(f"{unlabelled}.map(f => f.outerHTML)") == []


@contextmanager
def another(stack: Stack, **settings: Any) -> Iterator[str]:
    """The address of a second console of the same stack, served by a thread."""
    made = Server(Settings(lambda: stack, hints.command, **settings), 0)
    thread = threading.Thread(target=made.serve, daemon=True)
    thread.start()
    try:
        yield made.address
    finally:
        made.stop()
        thread.join(30)


def test_undeployed_contexts_are_not_shown(browser: Browser, things: Things) -> None:
    absent = ("ApprovalsTable", "TasksTable", "ImportsTable")
    outputs = {name: value for name, value in things.stack.outputs.items() if name not in absent}
    with another(replace(things.stack, outputs=outputs)) as address, opened(browser, address) as page:
        page.goto("/stock")
        shown = page.get_by_role("navigation").get_by_role("link").all_inner_texts()
        answer = page.goto("/approvals")
        assert answer
        status = answer.status

    assert {"Orders", "Stock", "Commands"} <= set(shown)
    assert not {"Approvals", "Tasks", "Imports"} & set(shown)
    assert status == 404


def test_read_only_console_has_no_button(browser: Browser, things: Things, addresses: dict[str, str]) -> None:
    with another(things.stack, changes=False) as reading, opened(browser, reading) as page:
        for address in (one for name, one in addresses.items() if name != "dialog"):
            page.goto(address)
            assert page.locator("a[data-change]").count() == 0, address
        answer = page.goto(addresses["dialog"])
        assert answer
        status = answer.status

    assert status == 403
