"""Demonstration of row imports: a file with bad rows, whose failed.csv is corrected and retried."""

import csv
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import RenderableType
from rich.table import Table

from stepwise.local.drawing import Text
from stepwise.operations import import_results, imports
from stepwise.operations.imports import ImportView
from stepwise.operations.stack import Stack

from . import views

_FILE = Path(__file__).with_name("demo_products.csv")
_TENANT, _TYPE = "shop", "PRODUCT"
# Corrections by row.
_CORRECTED = {"2": {"price": "900"}, "3": {"name": "Genmaicha"}, "4": {"category": "kitchen"}, "5": {"price": "1200"}}
_OWN_COLUMNS = 4

type Outcomes = dict[str, RenderableType]


def run(endpoint: str) -> Table:
    """Import the file, correct its failed rows, and retry them. Returns the outcome of each row."""
    stack = Stack.local(endpoint)
    with tempfile.TemporaryDirectory() as folder:
        first = _run(stack, _FILE, {"type": _TYPE})
        import_results.save(stack, first, Path(folder))
        before = _outcomes(Path(folder))
        _correct(Path(folder) / "failed.csv")
        second = _run(stack, Path(folder) / "failed.csv", {"retry_of": first.made.key.import_id})
        import_results.save(stack, second, Path(folder), force=True)
        after = _outcomes(Path(folder))
    with _FILE.open(newline="") as file:
        lines = list(csv.reader(file))[1:]
    rows = [
        [str(number), ",".join(line), before[str(number)], after.get(str(number), "not in the file")]
        for number, line in enumerate(lines, start=1)
    ]
    columns = ["row", "as it was", f"first: {first.made.status}", f"failed.csv, corrected: {second.made.status}"]
    return views.table("Rows imported from a CSV file, and the failed ones retried", columns, rows)


def _run(stack: Stack, file: Path, request: dict[str, str]) -> ImportView:
    key = imports.create(stack, {"tenant_code": _TENANT, "key": imports.upload(stack, file), **request})
    *_, ended = imports.follow(stack, key)
    return ended


def _outcomes(folder: Path) -> Outcomes:
    """Read the outcomes by row."""
    succeeded = {row[0]: Text(f"{row[2]}@{row[3]}", style="green") for row in _rows(folder / "succeeded.csv")}
    failed = {row[0]: Text(f"{row[1]} {row[2]}: {row[3]}", style="red") for row in _rows(folder / "failed.csv")}
    return {**succeeded, **failed}


def _correct(file: Path) -> None:
    with file.open(newline="") as content:
        header, *rows = csv.reader(content)
    names = header[_OWN_COLUMNS:]
    for row in rows:
        for name, value in _CORRECTED[row[0]].items():
            row[_OWN_COLUMNS + names.index(name)] = value
    with file.open("w", newline="") as content:
        csv.writer(content).writerows([header, *rows])


def _rows(file: Path) -> Sequence[list[str]]:
    with file.open(newline="") as content:
        return list(csv.reader(content))[1:]
