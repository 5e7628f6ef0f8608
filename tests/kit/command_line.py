"""The command line in process, with its real entry point."""

import io
import runpy
import signal
import sys
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass
from unittest import mock


@dataclass(frozen=True, slots=True)
class Ended:
    """The outcome of a command. code: of the process. error: an escaped exception; Python would print its traceback."""

    code: int
    out: str
    err: str
    error: BaseException | None = None


def stepwise(*arguments: str, text: str = "") -> Ended:
    """Run `./stepwise` with these arguments and this standard input."""
    out, err, handler = io.StringIO(), io.StringIO(), signal.getsignal(signal.SIGTERM)
    code: object = 0
    error = None
    with (
        mock.patch.object(sys, "argv", ["stepwise", *arguments]),
        mock.patch.object(sys, "stdin", io.TextIOWrapper(io.BytesIO(text.encode()), "utf-8")),
        redirect_stdout(out),
        redirect_stderr(err),
    ):
        try:
            runpy.run_module("stepwise.cli", run_name="__main__")
        except SystemExit as ended:
            code = ended.code or 0
        except BaseException as escaped:
            code, error = 1, escaped
        finally:
            signal.signal(signal.SIGTERM, handler)
    return Ended(code if isinstance(code, int) else 1, out.getvalue(), err.getvalue(), error)
