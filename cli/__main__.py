"""`python -m cli`, which ./stepwise calls."""

import os
import signal
import sys
from types import FrameType

from botocore.exceptions import BotoCoreError, ClientError

from idempotency import IdempotencyError
from local.emulator.emulator import LocalStackError
from operations.errors import CommandError

from . import views
from .app import app

_EXPECTED = (CommandError, LocalStackError, IdempotencyError, TimeoutError, ClientError, BotoCoreError)


def _end(number: int, _frame: FrameType | None) -> None:
    """Exit as after Ctrl-C, which stops everything."""
    sys.exit(128 + number)


def main() -> None:
    signal.signal(signal.SIGTERM, _end)
    os.environ["NO_PROXY"] = os.environ["no_proxy"] = ",".join(filter(None, [os.environ.get("NO_PROXY"), "127.0.0.1"]))
    try:
        app(prog_name="stepwise")
    except _EXPECTED as error:
        views.console(stderr=True).print(f"{type(error).__name__}: {error}", style="red", markup=False)
        sys.exit(1)


main()
