"""The program `stepwise`, in a checkout ./stepwise."""

import os
import signal
import sys
from types import FrameType

_PROJECT = "--project"


def _end(number: int, _frame: FrameType | None) -> None:
    """Exit as after Ctrl-C, which stops everything."""
    sys.exit(128 + number)


def main() -> None:
    if project := _project(sys.argv[1:]):
        os.environ["STEPWISE_PROJECT"] = project
    # Imported only now: several modules determine the project's folder at import.
    from . import lazy

    lazy.install()
    from typer import Abort

    from stepwise.local import terminal
    from stepwise.local.proxies import without_proxy

    from . import exits, output
    from .app import app

    terminal.install()
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, _end)
    os.environ.update(without_proxy())
    # Determined before the call is parsed, because it may be invalid.
    as_json = "--json" in sys.argv[1:]
    output.choose(as_json=as_json)
    try:
        code = app(prog_name="stepwise", standalone_mode=False)
        sys.stdout.flush()
    except Abort:
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


def _project(arguments: list[str]) -> str:
    """Return the value of --project, which precedes the command; empty without it."""
    for at, argument in enumerate(arguments):
        if not argument.startswith("-"):
            break
        name, equals, value = argument.partition("=")
        if name == _PROJECT:
            return value if equals else "".join(arguments[at + 1 : at + 2])
    return ""


def _tell(error: Exception) -> None:
    """Print the error on standard error, with a command that continues from here."""
    from . import exits, hints, output, views

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


if __name__ == "__main__":
    main()
