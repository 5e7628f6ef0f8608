"""The output of `stepwise imports`."""

from collections.abc import Iterable, Sequence

from rich.console import Group, RenderableType
from rich.table import Table

from imports.state import Import
from stepwise.local.drawing import Text
from stepwise.operations.import_results import Reason
from stepwise.operations.imports import ImportView, name_of

from . import views

_DETAILS = (
    "processing_mode",
    "key",
    "version_id",
    "entry",
    "created_at",
    "ended_at",
    "retry_of",
    "parent_id",
    "stopped_by",
)


def listed(title: str, made: Iterable[Import]) -> Table:
    """Build a table with one line per import."""
    columns = ["import", "type", "status", "rows", "succeeded", "failed", "unprocessed", "created at"]
    return views.copyable(views.table(title, columns, [_line(one) for one in made]))


def summary(seen: ImportView) -> Group:
    """Show an import that has ended: its counters and, for a ZIP, those of its files."""
    made = seen.made
    words = ["to create", "to update"] if made.validated else ["created", "updated"]
    columns = ["import", "status", "rows", "succeeded", *words, "unchanged", "failed", "unprocessed"]
    counters = ("total", "succeeded", "created", "updated", "unchanged", "failed", "unprocessed")
    numbers = [f"{seen.count(f'{counter}_rows'):,}" for counter in counters]
    title = "Validation: nothing was stored" if made.validated else "Import"
    table = views.table(title, columns, [[seen.name, views.status(made.status), *numbers]])
    return Group(views.copyable(table), *([listed("Its files", seen.children)] if seen.children else []))


def details(seen: ImportView) -> Group:
    """Show everything about an import except row values."""
    values = seen.made.values
    rows: list[list[RenderableType]] = [[name, Text(str(values[name]))] for name in _DETAILS if values.get(name)]
    rows.append(["type", Text(str(values["type"]))])
    rows.append(["options", Text(", ".join(f"{name}={value}" for name, value in values.get("options", {}).items()))])
    rows.extend([f"{name}.csv", Text(key)] for name, key in values.get("results", {}).items())
    return Group(views.table(seen.name, ["what", "value"], rows), summary(seen))


def refusal(made: Import) -> Text:
    """Say why a file was refused."""
    error = made.values["error"]
    where = f" {error['column']}" if error["column"] else ""
    return Text(f"{error['code']}{where}: {error['message']}", style="red")


def reasons(found: Sequence[Reason]) -> Table:
    """Show failed rows, grouped by how to fix them."""
    columns = ["failed rows", "what is wrong, and how to fix it", "code", "column", "such as rows"]
    rows: list[list[RenderableType]] = [
        [f"{one.rows:,}", Text(one.message), Text(one.code), Text(one.column), Text(", ".join(one.examples))]
        for one in found
    ]
    return views.table("Failed rows, by how to fix them", columns, rows)


def _line(made: Import) -> list[RenderableType]:
    counters = ("total", "succeeded", "failed", "unprocessed")
    return [
        name_of(made.key),
        Text(str(made.values["type"])),
        views.status(made.status),
        *(f"{int(made.values.get(f'{counter}_rows', 0)):,}" for counter in counters),
        f"{made.created:%Y-%m-%d %H:%MZ}",
    ]
