"""Pages of other sites in the same browser, and other programs, can neither read nor change anything."""

import http.client
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler
from urllib.parse import urlencode, urlsplit

import psutil
import pytest
from playwright.sync_api import Browser, Page, expect

from stepwise.local.simulators.serving import LoopbackServer
from stepwise.operations import stock
from tests.browser.things import Things

HOSTS = ["attacker.example", "127.0.0.1.attacker.example:80", "localhost.attacker.example", "0.0.0.0:1", ""]


class Site(LoopbackServer):
    """Another site on this machine. page: its HTML."""

    page = ""

    def __init__(self) -> None:
        super().__init__(_Pages)


class _Pages(BaseHTTPRequestHandler):
    server: Site

    def do_GET(self) -> None:
        body = self.server.page.encode()
        self.send_response(200)
        self.send_header("content-type", "text/html; charset=utf-8")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[Site]:
    with Site().serving() as made:
        yield made


@pytest.fixture
def visitor(browser: Browser, console: str) -> Iterator[Page]:
    """A browser that has the console open, and so has its cookie."""
    context = browser.new_context()
    page = context.new_page()
    page.goto(f"{console}/stock")
    yield page
    context.close()


def asked(console: str, method: str, path: str, body: str = "", **headers: str) -> tuple[int, str]:
    """A request with exactly these headers; `_` for `-`."""
    parts = urlsplit(console)
    connection = http.client.HTTPConnection("127.0.0.1", parts.port, timeout=20)
    connection.putrequest(method, path, skip_host=True)
    for name, value in {"Content-Length": str(len(body)), **headers}.items():
        connection.putheader(name.replace("_", "-"), value)
    connection.endheaders(body.encode())
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


@pytest.mark.parametrize("host", HOSTS)
@pytest.mark.parametrize("path", ["/runs", "/events?page=/runs", "/static/console.js", "/changes/add-stock?sku=x"])
def test_name_rebound_to_this_machine_gets_nothing(console: str, host: str, path: str) -> None:
    status, text = asked(console, "GET", path, Host=host)

    assert status in (400, 403)
    assert "<html" not in text


def test_form_of_another_site_changes_nothing(visitor: Page, console: str, site: Site, things: Things) -> None:
    sku = things.sku(10)
    fields = {"sku": sku, "pieces": "5", "reason": "attack", "who": "attacker", "back": "/stock", "token": "0" * 64}
    inputs = "".join(f'<input name="{name}" value="{value}">' for name, value in fields.items())
    site.page = f'<form method="post" action="{console}/changes/add-stock">{inputs}</form>'
    visitor.goto(site.address)
    with visitor.expect_navigation():
        visitor.evaluate("document.forms[0].submit()")

    expect(visitor.locator("body")).to_contain_text("must come from a page of the console")
    assert stock.on_hand(things.stack)[sku] == 10


def test_script_of_another_site_reads_and_changes_nothing(visitor: Page, console: str, site: Site) -> None:
    site.page = "<p>hello</p>"
    visitor.goto(site.address)
    read = """async ([url, options]) => {
        try { const answer = await fetch(url, options); return answer.type === "opaque" ? "opaque" : answer.text(); }
        catch (error) { return "refused"; }
    }"""
    for options in ({}, {"credentials": "include"}, {"method": "POST", "body": "who=x", "credentials": "include"}):
        assert visitor.evaluate(read, [f"{console}/runs", options]) == "refused"


@pytest.mark.parametrize("element", ["iframe", "img", "script", "object"])
def test_another_site_cannot_embed_the_console(visitor: Page, console: str, site: Site, element: str) -> None:
    source = "data" if element == "object" else "src"
    site.page = f'<{element} {source}="{console}/runs"></{element}>'
    answers: list[int] = []
    visitor.on("response", lambda answer: answers.append(answer.status) if answer.url == f"{console}/runs" else None)
    visitor.goto(site.address)
    visitor.wait_for_timeout(500)

    assert set(answers) <= {403}
    assert not [frame for frame in visitor.frames if "Runs" in frame.title()]


def test_event_source_of_another_site_gets_no_event(visitor: Page, console: str, site: Site) -> None:
    site.page = "<p>hello</p>"
    visitor.goto(site.address)
    opened = """(url) => new Promise((done) => {
        const stream = new EventSource(url, { withCredentials: true });
        stream.onmessage = stream.onopen = () => done("open");
        stream.addEventListener("parts", () => done("parts"));
        stream.onerror = () => done("refused");
    })"""

    assert visitor.evaluate(opened, f"{console}/events?page=/runs") == "refused"


def test_change_without_a_cookie_is_rejected(console: str, things: Things) -> None:
    sku = things.sku(10)
    host = urlsplit(console).netloc
    body = urlencode({"sku": sku, "pieces": "5", "reason": "x", "who": "x", "token": "0" * 64})
    status, _ = asked(console, "POST", "/changes/add-stock", body, Host=host, Origin=console)

    assert status == 403
    assert stock.on_hand(things.stack)[sku] == 10


def test_token_of_another_console_is_rejected(visitor: Page, console: str, things: Things) -> None:
    page, sku = visitor, things.sku(10)
    page.goto(f"{console}/changes/add-stock?sku={sku}")
    page.evaluate("document.querySelector('[name=token]').value = '0'.repeat(64)")
    page.get_by_label("Pieces").fill("5")
    page.get_by_label("Why").fill("attack")
    page.locator("form.change button").click()

    expect(page.locator("main")).to_contain_text("Nothing was changed")
    assert stock.on_hand(things.stack)[sku] == 10


def test_return_link_to_another_site_stays_here(page: Page, things: Things) -> None:
    sku = things.sku(10)
    for address in ("//attacker.example", "https://attacker.example/", "javascript:alert(1)"):
        page.goto(f"/changes/add-stock?{urlencode({'sku': sku, 'back': address})}")
        assert page.locator("[data-close]").get_attribute("href") == "/"
        assert page.locator("[name=back]").get_attribute("value") == "/"


def test_get_request_changes_nothing(page: Page, things: Things) -> None:
    sku = things.sku(10)
    page.goto(f"/changes/add-stock?{urlencode({'sku': sku, 'pieces': 5, 'reason': 'x', 'who': 'x'})}")

    assert stock.on_hand(things.stack)[sku] == 10


def test_inline_scripts_and_styles_do_not_run(visitor: Page, console: str) -> None:
    page = visitor
    page.goto(f"{console}/runs")
    note = "(e) => (window.refused ??= []).push(e.effectiveDirective)"
    page.evaluate(f"document.addEventListener('securitypolicyviolation', {note})")
    page.evaluate(
        """() => {
            const script = document.createElement("script");
            script.textContent = "document.title = 'attacked'";
            document.body.append(script);
            const image = document.createElement("div");
            image.innerHTML = '<img src=x onerror="document.title=`attacked`"><p style="color: red">x</p>';
            document.body.append(image);
        }"""
    )
    page.wait_for_function("window.refused?.length >= 3")
    refused = page.evaluate("window.refused")

    assert {"script-src-elem", "script-src-attr", "style-src-attr"} <= set(refused)
    assert page.title() == "Runs · Stepwise"


def test_console_listens_on_loopback_only(console: str) -> None:
    port = urlsplit(console).port
    listening = [one.laddr.ip for one in psutil.Process().net_connections("tcp") if one.laddr.port == port]

    assert set(listening) == {"127.0.0.1"}


def test_path_cannot_escape_the_static_files(console: str) -> None:
    host = urlsplit(console).netloc
    for path in ("/static/../server.py", "/static/..%2fserver.py", "/static/%2e%2e/server.py", "/static//etc/passwd"):
        status, text = asked(console, "GET", path, Host=host)
        assert status == 404, path
        assert "uvicorn" not in text
        assert "root:" not in text


def test_forty_streams_of_one_page_are_served(console: str) -> None:
    host, streams = urlsplit(console).netloc, []
    for _ in range(40):
        connection = http.client.HTTPConnection("127.0.0.1", urlsplit(console).port, timeout=20)
        connection.request("GET", "/events?page=/runs", headers={"Host": host})
        streams.append((connection, connection.getresponse()))
    lines = [[answer.readline() for _ in range(3)][-1] for _, answer in streams]
    for connection, _ in streams:
        connection.close()

    assert lines == [b"event: parts\n"] * 40
