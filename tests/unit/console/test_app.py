"""The console as a whole, with an unreachable stack, or a defect."""

import json
from collections.abc import Callable
from typing import Any, cast

import pytest

from stepwise.cli import hints
from stepwise.console.app import create
from stepwise.console.security import CONTENT_SECURITY_POLICY
from stepwise.console.settings import Settings
from stepwise.operations.stack import Stack, StackNotFound
from tests.unit.console.asgi import first_event, get, post


def console(open_stack: Callable[[], Stack]) -> Any:
    return create(Settings(open_stack, lambda *words: " ".join(["./stepwise", *words]))).application


def away() -> Stack:
    raise StackNotFound("nothing answers at http://127.0.0.1:4566", see=("start",))


def empty() -> Stack:
    return Stack(cast("Any", None), None, {})


def defective() -> Stack:
    raise ZeroDivisionError("in-private")


@pytest.mark.parametrize("path", ["/", "/runs", "/runs/OrderSaga/o-1"])
def test_unreachable_stack_is_reported_with_a_remedy(path: str) -> None:
    found = get(console(away), path)

    assert found.status == 503
    assert "nothing answers at http://127.0.0.1:4566" in found.text
    assert "./stepwise start" in found.text


def test_first_page_is_the_first_available_one() -> None:
    found = get(console(empty), "/")

    assert (found.status, found.headers["location"]) == (307, "/runs")


@pytest.mark.parametrize("path", ["/nowhere", "/events?page=/nowhere", "/events", "/changes/nothing", "/static/x.js"])
def test_unknown_address_is_not_found(path: str) -> None:
    assert get(console(empty), path).status == 404


def test_defect_is_reported_without_its_message_and_with_all_headers() -> None:
    found = get(console(defective), "/runs")

    assert found.status == 500
    assert "The console has a defect: ZeroDivisionError." in found.text
    assert "in-private" not in found.text
    assert found.headers["content-security-policy"] == CONTENT_SECURITY_POLICY


@pytest.mark.parametrize(
    ("open_stack", "told"),
    [
        (away, "nothing answers at http://127.0.0.1:4566"),
        (empty, "does not have this context"),
        (defective, "ZeroDivisionError"),
    ],
    ids=["away", "refused", "defect"],
)
def test_open_page_that_cannot_be_refreshed_says_why(open_stack: Callable[[], Stack], told: str) -> None:
    made = create(Settings(open_stack, hints.command))

    found = first_event(made.application, "/orders", made.close)

    assert told in json.loads(found.partition("data: ")[2])["away"]


@pytest.mark.parametrize("path", ["/runs", "/nowhere", "/static/console.css"])
def test_every_response_has_the_headers(path: str) -> None:
    found = get(console(away), path)

    assert found.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
    assert found.headers["cache-control"] in ("no-store", "no-cache")


def test_page_sets_a_cookie_hidden_from_scripts_and_other_sites() -> None:
    cookie = get(console(away), "/runs").headers["set-cookie"]

    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie


def test_post_to_a_page_is_not_allowed() -> None:
    assert post(console(away), "/runs", {}).status == 405


def test_unchanged_file_is_not_sent_again() -> None:
    app = console(empty)
    found = get(app, "/static/console.css")

    assert get(app, "/static/console.css", if_none_match=found.headers["etag"]).status == 304


def test_first_page_is_small() -> None:
    app = console(empty)
    files = ("/static/console.css", "/static/pages.css", "/static/console.js", "/static/morph.js", "/static/icon.svg")

    assert sum(len(get(app, path).text) for path in files) < 60_000
