"""`python -m stepwise.cli`, which ./stepwise calls."""

import os
import signal
import sys
from types import FrameType

import typer

from stepwise.local import terminal
from stepwise.local.proxies import without_proxy

from . import exits, lazy, output
from .app import app


def _end(number: int, _frame: FrameType | None) -> None:
    """Exit as after Ctrl-C, which stops everything."""
    sys.exit(128 + number)


def main() -> None:
    lazy.install()
    terminal.install()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    os.environ.update(without_proxy())
    # Known before the call is parsed, as it may be wrong.
    as_json = "--json" in sys.argv[1:]
    output.choose(as_json=as_json)
    try:
        code = app(prog_name="stepwise", standalone_mode=False)
        sys.stdout.flush()
    except typer.Abort:
        sys.stderr.write("Aborted: nothing was changed.\n")
        code = exits.FAILED
    except Exception as error:
        code = exits.code(error)
        # A group that is also a command, such as stock, chooses by its own words.
        output.choose(as_json=as_json)
        if code == exits.DEFECT and not output.is_json():
            sys.excepthook(*sys.exc_info())
        else:
            _tell(error)
    sys.exit(code if isinstance(code, int) else exits.DONE)


def _tell(error: Exception) -> None:
    """The error on standard error, with the command that goes on from here."""
    from . import hints, views

    see = getattr(error, "see", ())
    hint = hints.command(*see) if see else ""
    if output.is_json():
        sys.stderr.write(output.json_text(exits.document(error, hint)) + "\n")
    elif hasattr(error, "show"):
        error.show()
    else:
        out = views.console(stderr=True)
        out.print(f"{type(error).__name__}: {error}", style="red")
        if hint:
            out.print(f"See {hint}")


main()
