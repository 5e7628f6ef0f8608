"""The console's socket and its lifecycle."""

import socket
from collections.abc import Callable

import uvicorn

from stepwise.operations.errors import CommandError

from .app import create
from .security import LOOPBACK
from .settings import Settings

_SHUTDOWN_SECONDS = 5
_BACKLOG = 128


class PortTaken(CommandError):
    """Another program listens on this port."""


class Server:
    """Listens on 127.0.0.1 from its creation. port: 0 for a free one. Raises PortTaken."""

    def __init__(self, settings: Settings, port: int) -> None:
        self._socket = _listening(port)
        self.address = f"http://{LOOPBACK}:{self._socket.getsockname()[1]}"
        console = create(settings)
        config = uvicorn.Config(
            console.application,
            log_config=None,
            access_log=False,
            server_header=False,
            http="h11",
            ws="none",
            lifespan="off",
            timeout_graceful_shutdown=_SHUTDOWN_SECONDS,
        )
        self._server = _Uvicorn(config, console.close)

    def serve(self) -> None:
        """Serve until a signal, or `stop`."""
        with self._socket:
            self._server.run([self._socket])

    def stop(self) -> None:
        """Stop serving. Another thread may call this."""
        self._server.should_exit = True


class _Uvicorn(uvicorn.Server):
    """Uvicorn. close: called before it waits for open connections to end."""

    def __init__(self, config: uvicorn.Config, close: Callable[[], None]) -> None:
        super().__init__(config)
        self._close = close

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._close()
        await super().shutdown(sockets)


def _listening(port: int) -> socket.socket:
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        made.bind((LOOPBACK, port))
    except OSError as error:
        made.close()
        raise PortTaken(f"port {port} cannot be used ({error.strerror}); choose another one with --listen") from error
    made.listen(_BACKLOG)
    return made
