"""The pictures in docs/pictures: `make test-browser TESTS=tests/browser/test_pictures.py PICTURES=1` draws them."""

from collections.abc import Iterator
from os import environ

import pytest
from playwright.sync_api import Browser, Page

from tests.browser.things import Things
from tests.kit.project import ROOT

FOLDER = ROOT / "docs" / "pictures"

pytestmark = pytest.mark.skipif(not environ.get("PICTURES"), reason="PICTURES=1 draws the pictures in docs/pictures")


@pytest.fixture(scope="module")
def camera(browser: Browser, console: str) -> Iterator[Page]:
    context = browser.new_context(base_url=console, viewport={"width": 1280, "height": 860}, color_scheme="light")
    yield context.new_page()
    context.close()


def take(page: Page, name: str, address: str, height: int = 860) -> None:
    page.set_viewport_size({"width": 1280, "height": height})
    page.goto(address)
    page.wait_for_timeout(2500)
    FOLDER.mkdir(exist_ok=True)
    page.screenshot(path=FOLDER / f"console-{name}.png")


def test_runs(camera: Page, things: Things) -> None:
    for token in ("tok_visa", "tok_declined", "tok_visa"):
        things.placed(things.order(payment={"method": "card", "token": token}))
    things.application_in_review()
    things.blocked_key()
    take(camera, "runs", "/runs", 620)


def test_one_run(camera: Page, things: Things) -> None:
    order = things.placed(things.order(payment={"method": "card", "token": "tok_declined"}))
    take(camera, "run", f"/runs/OrderSaga/{order}?state=ProcessPayment", 1000)


def test_attention(camera: Page, things: Things) -> None:
    things.order_not_undone()
    things.abandoned_lease()
    take(camera, "attention", "/attention", 620)


def test_import(camera: Page, things: Things, tmp_path_factory: pytest.TempPathFactory) -> None:
    key = things.imported(tmp_path_factory.mktemp("rows"), 100, "x", 300, 400, "y", 600)
    take(camera, "import", f"/imports/{key.tenant_code}/{key.import_id}")
