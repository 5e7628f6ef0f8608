"""Imports: progress, errors by remedy, the grid of rows, retry and stop."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Locator, Page, expect

from imports.state import ImportKey, Status
from stepwise.operations import imports
from stepwise.operations.imports import name_of
from tests.browser.asking import confirm, refused, told
from tests.browser.things import HEADER, HOSTILE, Things, new
from tests.kit.injection import eventually, no_concurrency

ROWS = 100_000


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("files")


@pytest.fixture(scope="module")
def failed(things: Things, folder: Path) -> ImportKey:
    """An import of 130 rows, 30 of which have an invalid price and one a price that is too low."""
    return things.imported(folder, *[100] * 99, -1, *["x"] * 30)


@pytest.fixture(scope="module")
def large(things: Things, failed: ImportKey) -> ImportKey:
    return things.large_import(failed, ROWS)


def grid(page: Page) -> Locator:
    return page.get_by_role("grid", name="Rows of the import")


def row(page: Page, position: int) -> Locator:
    return page.locator(f"#row-{position}")


def address(key: ImportKey) -> str:
    return f"/imports/{key.tenant_code}/{key.import_id}"


@contextmanager
def waiting(things: Things, folder: Path) -> Iterator[ImportKey]:
    """An import of two rows that does not start until the end. Its stream's mapping waits as long as that takes."""
    with no_concurrency(things.stack, things.resources, "FollowImports"):
        text = f"{HEADER}p1,n,tea,100,JPY\np2,n,tea,100,JPY\n"
        yield started(things, folder, text, "waits.csv", processing_mode="STEP_FUNCTION")


def started(things: Things, folder: Path, text: str, name: str, **fields: Any) -> ImportKey:
    """Start an import of this text, as a file of this name. A DIRECT one has ended."""
    file = folder / name
    file.write_text(text)
    key = imports.upload(things.stack, file)
    return imports.create(things.stack, {"tenant_code": new("tenant"), "type": "PRODUCT", "key": key, **fields})


def test_imports_of_a_tenant_are_listed(page: Page, failed: ImportKey) -> None:
    page.goto("/imports")
    page.get_by_label("Tenant").fill(failed.tenant_code)
    page.get_by_role("button", name="Show").click()
    expect(page).to_have_url(re.compile(f"tenant={failed.tenant_code}"))
    line = page.get_by_role("row", name=name_of(failed))
    expect(line).to_contain_text("COMPLETED_WITH_FAILURES")
    line.get_by_role("link").click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Import {name_of(failed)}")


def test_errors_are_grouped_by_remedy_and_link_to_their_rows(page: Page, failed: ImportKey) -> None:
    page.goto(address(failed))
    reasons = page.get_by_role("region", name="Failed rows, by how to fix them")
    expect(reasons.get_by_role("row", name="NotANumber")).to_contain_text("30")
    expect(reasons.get_by_role("row", name="NotANumber")).to_contain_text("Use digits only")
    reasons.get_by_role("row", name="OutOfRange").get_by_role("button").click()
    expect(row(page, 100)).to_have_attribute("aria-selected", "true")
    expect(row(page, 100)).to_contain_text("OutOfRange price")
    page.get_by_role("button", name="Next failed row").click()

    expect(row(page, 101)).to_have_attribute("aria-selected", "true")
    expect(row(page, 101)).to_contain_text("NotANumber price")


def test_row_links_to_its_key(page: Page, failed: ImportKey) -> None:
    page.goto(address(failed))
    expect(row(page, 1)).to_contain_text("created")
    row(page, 1).get_by_role("link", name="PRODUCT#p1").click()

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Key {failed.tenant_code}/PRODUCT#p1")


def test_grid_of_100000_rows_scrolls_without_a_long_task(browser: Browser, page: Page, large: ImportKey) -> None:
    page.goto(address(large))
    expect(row(page, 1)).to_contain_text("created")
    box = grid(page).bounding_box()
    assert box
    page.mouse.move(box["x"] + 50, box["y"] + 100)
    browser.start_tracing(page=page, categories=["disabled-by-default-devtools.timeline", "__metadata"])
    most = 0
    for _ in range(60):
        page.mouse.wheel(0, 50_000)
        most = max(most, page.evaluate("document.querySelectorAll('#grid [role=row]').length"))
    grid(page).evaluate("(grid) => { grid.scrollTop = grid.scrollHeight; }")
    expect(row(page, ROWS)).to_contain_text("NotANumber price")
    tasks = milliseconds_of_tasks(browser.stop_tracing())

    assert most < 500
    assert page.evaluate("document.querySelectorAll('*').length") < 1_500
    assert len(tasks) > 100
    assert max(tasks) <= 50
    assert grid(page).get_attribute("aria-rowcount") == str(ROWS + 1)
    assert row(page, ROWS).get_attribute("aria-rowindex") == str(ROWS + 1)


def milliseconds_of_tasks(trace: bytes) -> list[float]:
    """The processor time of each task of the pages' main threads. A busy machine makes no task longer.

    Chromium omits it for some tasks; then the whole duration counts. A task that the trace cuts off has neither.
    """
    events = json.loads(trace)["traceEvents"]
    main = {
        (one["pid"], one["tid"])
        for one in events
        if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    tasks = [one for one in events if one["name"] == "RunTask" and (one["pid"], one["tid"]) in main]
    return [one.get("tdur", one.get("dur", 0)) / 1000 for one in tasks]


def test_each_grid_request_is_for_one_page(page: Page, large: ImportKey) -> None:
    sizes: list[int] = []
    page.on("response", lambda answer: sizes.append(len(answer.body())) if "/rows?" in answer.url else None)
    page.goto(f"{address(large)}?row=54321")
    expect(row(page, 54_321)).to_contain_text("PRODUCT#p54321")

    assert 1 <= len(sizes) <= 4
    assert max(sizes) < 40_000


def test_grid_needs_only_the_keyboard(page: Page, large: ImportKey) -> None:
    page.goto(address(large))
    expect(row(page, 1)).to_contain_text("created")
    grid(page).focus()
    for key, position in (("ArrowDown", 2), ("End", ROWS), ("ArrowUp", ROWS - 1), ("Home", 1)):
        page.keyboard.press(key)
        expect(row(page, position)).to_have_attribute("aria-selected", "true")
        expect(grid(page)).to_have_attribute("aria-activedescendant", f"row-{position}")
        expect(row(page, position)).to_be_in_viewport()
    page.keyboard.press("PageDown")
    expect(row(page, 1)).to_have_attribute("aria-selected", "false")
    page.keyboard.press("Home")
    page.keyboard.press("Enter")

    expect(page.get_by_role("heading", level=1)).to_have_text(f"Key {large.tenant_code}/PRODUCT#p1")


def test_row_is_found_by_its_number(page: Page, large: ImportKey) -> None:
    page.goto(address(large))
    page.get_by_label("Go to row").fill("99000")
    page.get_by_label("Go to row").press("Enter")

    expect(row(page, 99_000)).to_contain_text("NotANumber price")
    expect(page.locator("#grid-said")).to_have_text("Row 99000.")


def test_retry_is_a_new_import_of_the_same_rows(page: Page, things: Things, folder: Path) -> None:
    key = things.imported(folder, 100, "x")
    page.goto(address(key))
    page.get_by_role("link", name="Retry").click()
    expect(page.get_by_role("dialog")).to_contain_text(f"imports retry --of {name_of(key)}")
    confirm(page)
    told(page, "runs the rows again")
    newest = page.get_by_role("listitem").filter(has_text="Newest retry")
    newest.get_by_role("link").click()
    expect(page.get_by_role("listitem").filter(has_text="Retries")).to_contain_text(name_of(key))

    found = imports.of_tenant(things.stack, key.tenant_code, 10)
    assert [made.values.get("retry_of") for made in found] == [key.import_id, None]


def test_check_stores_nothing_and_its_dialog_shows_its_own_command(page: Page, things: Things, folder: Path) -> None:
    key = things.imported(folder, 100, "x")
    page.goto(address(key))
    page.get_by_role("link", name="Check", exact=True).click()
    expect(page.get_by_role("dialog")).to_contain_text(f"imports retry --of {name_of(key)} --validate-only")
    confirm(page)
    told(page, "It stores none")

    newest, _ = imports.of_tenant(things.stack, key.tenant_code, 10)
    assert newest.validated


def test_fully_successful_import_has_no_retry(page: Page, things: Things, folder: Path) -> None:
    key = things.imported(folder, 100)
    page.goto(address(key))
    expect(page.locator("main")).to_contain_text("COMPLETED")

    expect(page.get_by_role("link", name="Retry")).to_have_count(0)
    page.goto(f"/changes/stop-import?import={name_of(key)}")
    page.get_by_role("button", name="Stop the import").click()
    refused(page, f"{name_of(key)} has ended; there is nothing to stop")


def test_running_import_is_followed_and_stopped(page: Page, things: Things, folder: Path) -> None:
    with waiting(things, folder) as key:
        page.goto(address(key))
        expect(page.locator("main")).to_contain_text("CREATED")
        page.evaluate("window.kept = true")
        page.get_by_role("link", name="Stop").click()
        confirm(page, **{"Done by": "ann"})
        told(page, "Stopped by ann")
    expect(page.locator("main")).to_contain_text("FAILED", timeout=120_000)
    eventually(lambda: imports.view(things.stack, key).made.status is Status.FAILED)
    assert imports.view(things.stack, key).made.values["stopped_by"] == "ann"


def test_rows_of_a_running_import_get_their_outcomes(page: Page, things: Things, folder: Path) -> None:
    with waiting(things, folder) as key:
        page.goto(address(key))
        expect(page.locator("main")).to_contain_text("CREATED")
        page.evaluate("window.kept = true")
    expect(row(page, 1)).to_contain_text("created", timeout=120_000)
    expect(page.locator("main")).to_contain_text("COMPLETED", timeout=120_000)

    assert page.evaluate("window.kept")


def test_page_has_no_row_value_and_a_file_name_runs_no_script(page: Page, things: Things, folder: Path) -> None:
    hostile = HOSTILE.replace('"', "'")
    text = f'{HEADER}p1,"{hostile}",tea,private-price,JPY\n'
    key = started(things, folder, text, "<img src=x onerror=document.title='attacked'>.csv")
    page.goto(address(key))
    expect(page.locator("main")).to_contain_text("onerror=document.title='attacked'>.csv")
    expect(row(page, 1)).to_contain_text("NotANumber price")

    assert "private-price" not in page.content()
    assert "<script>" not in page.locator("main").inner_text()
    assert "attacked" not in page.title()


def test_refused_file_says_why(page: Page, things: Things, folder: Path) -> None:
    key = started(things, folder, "code,name\np1,n\n", "refused.csv")
    page.goto(address(key))

    expect(page.locator(".answer.bad")).to_contain_text("MissingColumn category: The header has no column category")


def test_unknown_import_is_reported(page: Page) -> None:
    page.goto("/imports/tenant1/nonsense")
    expect(page.locator("main")).to_contain_text("import_id:")
