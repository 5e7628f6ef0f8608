"""Responses as a hostile or confused peer sends them, byte by byte, on a real socket."""

import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from runtime.exchange import MAX_HEAD, Deadline, Limits, NoResponse, Place, Request, Response
from tests.kit import bounded

LIMITS = Limits(connect=5, response=5, body_bytes=1000)
BEGINNING = Limits(connect=5, response=5, body_bytes=10, body_seconds=0.2, whole=False)
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
OTHER = b"HTTP/1.1 404 Not Found\r\nContent-Length: 5\r\n\r\nother"
HINTS = b"HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n"
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"


@contextmanager
def peer(parts: Sequence[bytes], *, pause: float = 0, reads: bool = True) -> Iterator[tuple[Place, list[bytes]]]:
    """A server that reads one request, sends these parts and closes. Also returns the bytes read, by connection."""
    requests: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            with suppress(OSError):
                while True:
                    connection, _ = server.accept()
                    with connection, suppress(OSError):
                        requests.append(connection.recv(65536) if reads else b"")
                        for part in parts:
                            connection.sendall(part)
                            time.sleep(pause)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield Place("127.0.0.1", server.getsockname()[1], None), requests
        server.shutdown(socket.SHUT_RDWR)
    thread.join(bounded.SECONDS)


def ask(parts: Sequence[bytes] | bytes, limits: Limits = LIMITS, *, pause: float = 0) -> Response:
    with peer([parts] if isinstance(parts, bytes) else parts, pause=pause) as (place, _):
        return Request("POST", "/x", {}, b"{}").send(place, Deadline.after(10), limits)


@pytest.mark.parametrize(
    "parts",
    [
        OK,
        HINTS + OK,
        [HINTS, OK],
        b"HTTP/1.1 100 Continue\r\n\r\n" + b"HTTP/1.1 102 Processing\r\n\r\n" + HINTS + OK,
        HINTS * 16 + OK,
        [bytes([byte]) for byte in HINTS + OK],
        OK + OTHER,
        OK + b"garbage",
        CHUNKED + b"2\r\nok\r\n0\r\nTrailer: x\r\n\r\n" + OTHER,
        CHUNKED + b"1;a=b\r\no\r\n1\r\nk\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n",
        b"HTTP/1.1 200 OK\r\n\r\nok",
        b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 \r\nContent-Length: 2\r\n\r\nok",
        b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 1000 + b"Content-Length: 2\r\n\r\nok",
    ],
)
def test_final_response_is_returned(parts: Sequence[bytes] | bytes) -> None:
    found = ask(parts)

    assert (found.status, found.body) == (200, b"ok")


@pytest.mark.parametrize(
    ("parts", "reason"),
    [
        (b"", "no connection, or it was closed"),
        (HINTS, "no connection, or it was closed"),
        (HINTS * 17 + OK, "more than 16 interim responses"),
        (b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\n" + OK, "not valid HTTP"),
        (b"garbage\r\n" + OK, "not valid HTTP"),
        (b"\x16\x03\x01\x00", "not valid HTTP"),
        (b"<html>\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 20 OK\r\n\r\n", "not valid HTTP"),
        (b"HTTP/2 200\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nokk", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: -2\r\n\r\nok", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent Length: 2\r\n\r\nok", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok", "closed without an answer"),
        (CHUNKED + b"2\r\nok\r\n", "closed without an answer"),
        (CHUNKED + b"2\r\nokay\r\n0\r\n\r\n", "not valid HTTP"),
        (CHUNKED + b"zz\r\nok\r\n0\r\n\r\n", "not valid HTTP"),
        (b"HTTP/1.1 200 OK\r\nContent-Length: 1001\r\n\r\n" + b"x" * 1001, "too long"),
        (b"HTTP/1.1 200 OK\r\nX: " + b"y" * 2 * MAX_HEAD, "headers have more than 64 KiB"),
        ([b"HTTP/1.1 200 OK\r\n", *[b"X: y\r\n" * 1000] * 20], "headers have more than 64 KiB"),
    ],
)
def test_invalid_response_has_a_reason(parts: Sequence[bytes] | bytes, reason: str) -> None:
    with pytest.raises(NoResponse, match=reason) as caught:
        ask(parts)

    assert "127.0.0.1" not in str(caught.value)


@pytest.mark.parametrize("parts", [[OK[:1]] * 100, [HINTS[:5], *[b"x"] * 100], [OK[:-1], *[b""] * 100]])
def test_slow_peer_is_abandoned_at_the_deadline(parts: Sequence[bytes]) -> None:
    began = time.monotonic()
    with pytest.raises(NoResponse, match=r"^no answer in time$"):
        ask([OK[:5], *parts] if parts[0] == b"H" else parts, Limits(connect=1, response=0.3), pause=0.1)

    assert time.monotonic() - began < bounded.SECONDS


def test_body_that_decides_nothing_is_read_only_partly() -> None:
    long, cut = (b"HTTP/1.1 500 No\r\nContent-Length: 100000\r\n\r\n" + b"x" * size for size in (100_000, 5))

    assert [(ask(text, BEGINNING).status, ask(text, BEGINNING).body) for text in (long, cut)] == [
        (500, b"x" * 10),
        (500, b"x" * 5),
    ]


def test_early_response_is_returned() -> None:
    with peer([OTHER], reads=False) as (place, _):
        found = Request("POST", "/x", {}, b"x" * 1_000_000).send(place, Deadline.after(10), LIMITS)

    assert found.status == 404


def test_each_request_has_its_own_connection() -> None:
    with peer([OK + OTHER]) as (place, requests):
        found = [Request("GET", f"/{number}").send(place, Deadline.after(10), LIMITS).status for number in range(3)]

    assert found == [200] * 3
    assert [request.split()[1] for request in requests] == [b"/0", b"/1", b"/2"]


@pytest.mark.parametrize(
    "target", ["/%2e%2e/x", "/a/../b", "/x?", "/?a=[1]", "/%zz", "/%7E", "/~", "//x", "/a//b?c=d&c=e", "/;a?b?c"]
)
def test_target_is_sent_unchanged(target: str) -> None:
    with peer([OK]) as (place, requests):
        Request("POST", target, {"X": "y"}, b"{}").send(place, Deadline.after(10), LIMITS)

    head, _, body = requests[0].partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[:2] == [f"POST {target} HTTP/1.1".encode(), f"Host: {place.authority}".encode()]
    assert (body, b"Connection: close" in head, b"Content-Length: 2" in head) == (b"{}", True, True)


@pytest.mark.parametrize("target", ["/a b", "/ä", "/x\r\nX: y", ""])
def test_target_that_would_alter_the_request_is_not_sent(target: str) -> None:
    with peer([OK]) as (place, requests), pytest.raises(NoResponse, match="cannot be sent"):
        Request("GET", target).send(place, Deadline.after(10), LIMITS)

    assert [text for text in requests if text] == []


@settings(max_examples=60, deadline=None)
@given(noise=st.lists(st.sampled_from([OK, OTHER, HINTS, CHUNKED, b"\r\n", b"0", b"\x00", OK[:20]]), max_size=6))
def test_any_bytes_end_in_the_first_final_response_or_none(noise: list[bytes]) -> None:
    text = b"".join(noise)
    try:
        found = ask(text)
    except NoResponse:
        return

    assert found.status >= 200
    first = min(text.find(one) for one in (b" 200 ", b" 404 ") if one in text)
    assert text[first + 1 : first + 4] == str(found.status).encode()
