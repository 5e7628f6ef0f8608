"""The demonstration of an import: a realistic file, and the outcome of each row."""

from collections.abc import Iterable
from pathlib import Path

from rich.console import Console, RenderableType
from rich.table import Table

from stepwise.local.drawing import Text
from stepwise.operations import user_imports
from stepwise.operations.stack import Stack
from user_import.results import FAILURE, SUCCESS, Result

from . import views
from .import_command import follow, summary_table

# Amazon Connect allows two calls a second and takes a minute to create an instance. The demonstration is faster.
QUICK = {
    "SFN_WAIT_SCALE": "0.1",
    "CONNECT_SIMULATOR_REQUESTS_PER_SECOND": "50",
    "CONNECT_SIMULATOR_BURST": "50",
    "CONNECT_SIMULATOR_ACTIVATION_SECONDS": "1",
    "CONNECT_SIMULATOR_PROFILES_SECONDS": "1",
}
_FILE = Path(__file__).with_name("demo_users.csv")


def start(stack: Stack) -> str:
    """Start the import of the file. Returns its name."""
    return user_imports.start(stack, _FILE)


def show(out: Console, stack: Stack, name: str) -> None:
    """Follow the import to its end, and show the result of every row."""
    follow(stack, name, out)
    ended = user_imports.summary(stack, name)
    out.print(results_table(user_imports.results(stack, ended)))
    out.print(summary_table(ended))


def results_table(results: Iterable[Result]) -> Table:
    """One line for every row of the file."""
    rows: list[list[RenderableType]] = [
        [str(result.csv_row), _word(result), result.user_id or "-", result.error_message] for result in results
    ]
    return views.table("Users imported from a CSV file", ["CSVRowNumber", "result", "UserId", "errorMessage"], rows)


def _word(result: Result) -> Text:
    return Text(SUCCESS, style="green") if result.succeeded else Text(FAILURE, style="red")
