"""A relay's forwarding, and its end."""

import socket
import threading
from collections.abc import Iterator

import pytest

from stepwise.local.containers import relay
from tests.kit.bounded import Threads

PAYLOAD = bytes(range(256)) * 4096


@pytest.fixture
def upstream() -> Iterator[int]:
    """The port of a server that echoes what it receives."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=_echo, args=(server,), daemon=True).start()
        yield server.getsockname()[1]


def _echo(server: socket.socket) -> None:
    while True:
        try:
            connection, _ = server.accept()
        except OSError:
            return
        with connection:
            connection.sendall(_everything(connection))


def _everything(connection: socket.socket) -> bytes:
    return b"".join(iter(lambda: connection.recv(65536), b""))


def sent_through(port: int) -> bytes:
    with socket.create_connection(("127.0.0.1", port), timeout=60) as connection, Threads(1) as sender:
        sender.submit(lambda: (connection.sendall(PAYLOAD), connection.shutdown(socket.SHUT_WR)))
        return _everything(connection)


def test_relay_forwards_both_directions(upstream: int) -> None:
    with relay("127.0.0.1", upstream) as port:
        assert sent_through(port) == PAYLOAD
        assert sent_through(port) == PAYLOAD


def test_closed_relay_does_not_listen(upstream: int) -> None:
    with relay("127.0.0.1", upstream) as port:
        pass

    with pytest.raises(ConnectionRefusedError):
        sent_through(port)


def test_connection_closes_if_nothing_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as gone:
        port = gone.getsockname()[1]
    with relay("127.0.0.1", port) as open_port, socket.create_connection(("127.0.0.1", open_port), timeout=60) as one:
        assert one.recv(1) == b""
