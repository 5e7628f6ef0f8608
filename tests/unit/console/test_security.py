"""The requests that the console accepts, and the headers of its responses."""

from typing import Any

import pytest

from stepwise.console.security import CONTENT_SECURITY_POLICY, Guard, Tokens, cookie_name
from tests.unit.console.asgi import HOST, Answer, get, post, request


async def application(_scope: Any, _receive: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": b"OPEN"})


GUARDED = Guard(application)


def refused(answer: Answer) -> bool:
    return answer.status == 403 and "OPEN" not in answer.text


@pytest.mark.parametrize("host", ["127.0.0.1:8566", "localhost:8566", "localhost", "LOCALHOST:9000"])
def test_local_host_names_are_accepted(host: str) -> None:
    assert get(GUARDED, "/", host=host).text == "OPEN"


@pytest.mark.parametrize(
    "host",
    [
        "attacker.example",
        "attacker.example:8566",
        "127.0.0.1.attacker.example",
        "localhost.attacker.example",
        "169.254.169.254",
        "user@attacker.example",
        "[::1",
        "",
    ],
)
def test_foreign_name_resolving_to_this_machine_is_rejected(host: str) -> None:
    assert refused(get(GUARDED, "/", host=host))


def test_request_without_host_is_rejected() -> None:
    assert refused(get(GUARDED, "/", host=""))


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
@pytest.mark.parametrize("kind", ["script", "image", "iframe", "empty"])
def test_another_site_may_not_load_a_page(site: str, kind: str) -> None:
    mode = "navigate" if kind == "iframe" else "no-cors"

    assert refused(get(GUARDED, "/runs", sec_fetch_site=site, sec_fetch_dest=kind, sec_fetch_mode=mode))


def test_another_site_may_link_to_a_page() -> None:
    found = get(GUARDED, "/runs", sec_fetch_site="cross-site", sec_fetch_dest="document", sec_fetch_mode="navigate")

    assert found.text == "OPEN"


def test_form_of_the_console_is_accepted() -> None:
    assert post(GUARDED, "/changes/x", {}).text == "OPEN"


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "http://attacker.example"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "http://127.0.0.1:3000"},
        {"origin": f"https://{HOST}"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"sec_fetch_site": "none"},
    ],
    ids=str,
)
def test_form_of_another_page_is_rejected(headers: dict[str, str]) -> None:
    assert refused(post(GUARDED, "/changes/x", {}, **headers))


def test_change_without_origin_is_rejected() -> None:
    assert refused(request(GUARDED, "POST", "/changes/x"))


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE"])
def test_every_other_method_counts_as_a_change(method: str) -> None:
    assert refused(request(GUARDED, method, "/changes/x"))


def test_every_response_forbids_inline_scripts_frames_and_sniffing() -> None:
    for found in (get(GUARDED, "/"), get(GUARDED, "/", host="attacker.example")):
        assert found.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert found.headers["x-content-type-options"] == "nosniff"
        assert found.headers["cache-control"] == "no-store"
    assert "unsafe" not in CONTENT_SECURITY_POLICY
    assert "default-src 'none'" in CONTENT_SECURITY_POLICY


def test_token_fits_only_its_cookie_and_process() -> None:
    tokens = Tokens()
    cookie = tokens.cookie(None)

    assert tokens.fits(cookie, tokens.token(cookie))
    assert not tokens.fits(tokens.cookie(None), tokens.token(cookie))
    assert not Tokens().fits(cookie, tokens.token(cookie))
    assert not tokens.fits(None, tokens.token(""))
    assert not tokens.fits(cookie, "")


def test_cookie_is_kept_if_it_may_be_ours() -> None:
    tokens = Tokens()
    cookie = tokens.cookie(None)

    assert tokens.cookie(cookie) == cookie
    assert tokens.cookie("short") != "short"


def test_consoles_on_other_ports_have_other_cookies() -> None:
    assert cookie_name("127.0.0.1:8566") != cookie_name("127.0.0.1:8567")
