"""`python -m local.gateway --port N`: the stand-in on its own, until SIGTERM or Ctrl-C."""

import argparse
import logging
import signal
import sys
from contextlib import suppress
from types import FrameType

from .server import GatewayServer


def _end(_number: int, _frame: FrameType | None) -> None:
    sys.exit(0)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m local.gateway", description="A stand-in for a card processor.")
    parser.add_argument("--port", type=int, default=0, help="of 127.0.0.1; 0 (the default) for any that is free")
    port = parser.parse_args().port
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    signal.signal(signal.SIGTERM, _end)
    try:
        server = GatewayServer(port)
    except OSError as error:
        sys.exit(f"port {port} cannot be used: {error.strerror}")
    with server, suppress(KeyboardInterrupt):
        logging.getLogger(__name__).info("the payment gateway's stand-in is at %s", server.address)
        server.serve_forever()


main()
