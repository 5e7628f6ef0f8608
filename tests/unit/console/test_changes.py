"""A change asks first, requires a name and a token, and runs once."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, cast

import pytest
from starlette.applications import Starlette
from starlette.exceptions import HTTPException

from stepwise.console.answers import Answers
from stepwise.console.change_routes import ChangeRoutes
from stepwise.console.changes import Change, Field, InvalidForm, Told, checked, local_path
from stepwise.console.pages import Visit
from stepwise.console.reader import Reader
from stepwise.console.settings import Settings
from stepwise.operations.errors import CommandError
from stepwise.operations.stack import Stack
from tests.unit.console.asgi import Answer, get, post

FIELDS = (
    Field("reason", "Reason"),
    Field("count", "How many", kind="number", required=False),
    Field("way", "Way", kind="choice", choices=("up", "down"), required=False),
)


class Refused(CommandError):
    """A change that must not run."""


@dataclass
class Made:
    """A change that records its call. error: raised by it."""

    calls: list[tuple[Mapping[str, str], Mapping[str, str], str]] = field(default_factory=list)
    error: Exception | None = None

    def effect(self, visit: Visit) -> str:
        return f"Retry {visit.query['key']}."

    def command(self, visit: Visit) -> tuple[str, ...]:
        return ("commands", "retry", visit.query["key"])

    def run(self, visit: Visit, form: Mapping[str, str], who: str) -> str:
        if self.error:
            raise self.error
        self.calls.append((visit.query, form, who))
        return f"{visit.query['key']} runs again."


class Caller:
    def get_caller_identity(self) -> Any:
        return {"Arn": "arn:aws:iam::000000000000:user/ada"}


def stack() -> Stack:
    made = Stack(cast("Any", None), None, {"OrdersTable": "orders"})
    made._clients["sts"] = Caller()
    return made


def application(made: Made, *, allowed: bool = True, needs: tuple[str, ...] = ()) -> Starlette:
    change = Change(
        "retry", "Retry", made.effect, made.command, made.run, parameters=("key",), fields=FIELDS, needs=needs
    )
    reader = Reader(Settings(stack, lambda *words: " ".join(["./stepwise", *words]), changes=allowed))
    answers = Answers(reader, ())

    routes = ChangeRoutes(reader, answers, (change,)).routes
    return Starlette(routes=routes, exception_handlers={HTTPException: answers.refused})


@pytest.fixture
def made() -> Iterator[Made]:
    return Made()


@dataclass
class Browser:
    """A browser that keeps the cookie and the token of the last form."""

    app: Starlette
    cookie: str = ""
    token: str = ""

    def ask(self, address: str = "/changes/retry?key=a%26b&back=/orders") -> Answer:
        found = get(self.app, address)
        self.cookie = found.cookie
        self.token = found.text.partition('name="token" value="')[2].partition('"')[0]
        return found

    def make(self, **fields: str) -> Answer:
        form = {"key": "a&b", "back": "/orders", "token": self.token, "reason": "again", "who": "ada", **fields}
        return post(self.app, "/changes/retry", form, cookie=self.cookie)


def test_form_says_what_will_happen_and_changes_nothing(made: Made) -> None:
    found = Browser(application(made)).ask()

    assert found.status == 200
    assert "Retry a&amp;b." in found.text
    assert "./stepwise commands retry a&amp;b" in found.text
    assert 'value="arn:aws:iam::000000000000:user/ada"' in found.text
    assert made.calls == []


def test_change_runs_once_and_the_page_says_what_was_done(made: Made) -> None:
    browser = Browser(application(made))
    browser.ask()
    found = browser.make(who=" ada ", count="3")

    assert (found.status, found.headers["location"].partition("?told=")[0]) == (303, "/orders")
    assert made.calls == [({"key": "a&b"}, {"reason": "again", "count": "3", "way": ""}, "ada")]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"who": " "}, "who: enter the name of the person who makes the change"),
        ({"reason": ""}, "reason: this field is required"),
        ({"count": "-1"}, "count: must be a whole number, 0 or more"),
        ({"way": "sideways"}, "way: choose one of up, down"),
    ],
    ids=str,
)
def test_incomplete_form_is_shown_again(made: Made, fields: dict[str, str], message: str) -> None:
    browser = Browser(application(made))
    browser.ask()
    found = browser.make(**fields)

    assert (found.status, made.calls) == (422, [])
    assert message in found.text


def test_refused_change_says_why_and_keeps_the_fields(made: Made) -> None:
    made.error = Refused("version 3 is not the current one")
    browser = Browser(application(made))
    browser.ask()
    found = browser.make(reason="<b>why</b>")

    assert found.status == 409
    assert "version 3 is not the current one" in found.text
    assert 'value="&lt;b&gt;why&lt;/b&gt;"' in found.text


@pytest.mark.parametrize("token", ["", "0" * 64])
def test_change_without_its_token_is_rejected(made: Made, token: str) -> None:
    browser = Browser(application(made))
    browser.ask()

    assert (browser.make(token=token).status, made.calls) == (403, [])


def test_form_of_an_earlier_start_is_shown_again_with_its_fields(made: Made) -> None:
    earlier, browser = Browser(application(made)), Browser(application(made))
    earlier.ask()
    browser.cookie, browser.token = earlier.cookie, earlier.token
    found = browser.make(reason="why")

    assert (found.status, made.calls) == (403, [])
    assert "send it again" in found.text
    assert 'value="why"' in found.text


def test_token_of_another_browser_is_rejected(made: Made) -> None:
    app = application(made)
    one, other = Browser(app), Browser(app)
    one.ask()
    other.ask()

    assert (one.make(token=other.token).status, made.calls) == (403, [])


def test_read_only_console_has_no_changes(made: Made) -> None:
    browser = Browser(application(made, allowed=False))

    assert browser.ask().status == 403
    assert (browser.make().status, made.calls) == (403, [])


def test_change_of_an_undeployed_context_does_not_exist(made: Made) -> None:
    assert Browser(application(made, needs=("TasksTable",))).ask().status == 404


def test_oversized_form_is_rejected(made: Made) -> None:
    browser = Browser(application(made))
    browser.ask()

    assert (browser.make(reason="x" * 70_000).status, made.calls) == (413, [])


@pytest.mark.parametrize(
    "path",
    ["//attacker.example", "https://attacker.example", "javascript:alert(1)", "/\\attacker.example", "", "/a\r\nX: 1"],
)
def test_change_redirects_only_within_this_console(path: str) -> None:
    assert local_path(path) == "/"


def test_change_redirects_to_its_page() -> None:
    assert local_path("/orders?status=New") == "/orders?status=New"


def test_field_is_required_unless_marked_optional() -> None:
    change = Change("x", "X", lambda _: "", lambda _: (), lambda *_: "", fields=FIELDS)

    with pytest.raises(InvalidForm):
        checked(change, {"who": "ada"})


def test_messages_are_eventually_forgotten() -> None:
    told = Told()
    keys = [told.keep(str(number)) for number in range(300)]

    assert (told.sentence(keys[-1]), told.sentence(keys[0]), told.sentence("x")) == ("299", "", "")
