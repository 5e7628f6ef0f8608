"""Imports of rows: the list, and one with its progress, its errors by how to fix them, and its rows."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from imports.state import Import, ImportKey
from stepwise.operations import import_rows, imports
from stepwise.operations.imports import ImportNotFound, ImportView, name_of

from .changes import Change, Form
from .facts import facts
from .pages import Page, Visit, data
from .rendering import quote_path

_LAST = 100
_MAX_CHILDREN = 200
_COUNTERS = ("total", "processed", "succeeded", "created", "updated", "unchanged", "failed", "unprocessed")
_DETAILS = (
    *("type", "processing_mode", "key", "entry", "created_at", "ended_at", "validated", "stopped_by", "options"),
    "round",
)


@dataclass(frozen=True, slots=True)
class Pace:
    """Speed of an import. rows: per second, on average since its creation.

    left: until its end at this pace; None if unknown.
    """

    rows: float
    left: timedelta | None


def pace(done: int, total: int, created: datetime, now: datetime) -> Pace | None:
    """Compute the pace of an import; None before its first row."""
    seconds = (now - created).total_seconds()
    if done <= 0 or seconds <= 0:
        return None
    rows = done / seconds
    return Pace(rows, timedelta(seconds=(total - done) / rows) if total >= done else None)


def view(visit: Visit) -> Mapping[str, Any]:
    """Return the imports that have not ended or, for a tenant, the last ones."""
    tenant = visit.asked("tenant")
    found = imports.of_tenant(visit.stack, tenant, _LAST) if tenant else imports.running(visit.stack)[:_LAST]
    return {"imports": [_line(one) for one in found], "tenant": tenant}


def _line(made: Import) -> dict[str, Any]:
    counts = {name: int(made.values.get(f"{name}_rows", 0)) for name in _COUNTERS}
    line = {
        "name": name_of(made.key),
        "page": page_of(made.key),
        "type": made.values["type"],
        "status": str(made.status),
    }
    return {**line, "created_at": made.values["created_at"], **counts}


def page_of(key: ImportKey) -> str:
    """Return the address of an import's page."""
    return f"/imports/{quote_path(key.tenant_code)}/{quote_path(key.import_id)}"


def one(visit: Visit) -> Mapping[str, Any]:
    """Return the current state of an import, without its rows."""
    seen = imports.view(visit.stack, _key(visit))
    made = seen.made
    counts = {name: seen.count(f"{name}_rows") for name in _COUNTERS}
    going = pace(counts["processed"], counts["total"], made.created, datetime.now(UTC))
    return {
        "name": seen.name,
        "page": page_of(made.key),
        "made": made,
        "status": str(made.status),
        "final": made.status.final,
        "counts": counts,
        "pace": None if made.status.final else going,
        "details": facts(made.values, _DETAILS),
        "error": _refusal(made),
        "reasons": made.values.get("reasons", []),
        "children": [_line(child) for child in _first(seen.children)],
        "more_children": max(0, len(seen.children) - _MAX_CHILDREN),
        "related": _related(visit, made),
        "machine": "" if made.direct else "ImportZip" if made.zip else "ImportCsv",
        "retryable": _retryable(seen),
    }


def _first(children: Sequence[Import]) -> list[Import]:
    """Return the first children of a ZIP, unsuccessful ones first."""
    return sorted(children, key=lambda child: (child.status == "COMPLETED", child.key.import_id))[:_MAX_CHILDREN]


def _refusal(made: Import) -> str:
    """Say why the file was refused; empty if it was not."""
    error = made.values.get("error")
    return f"{error['code']}{' ' + error['column'] if error['column'] else ''}: {error['message']}" if error else ""


def _related(visit: Visit, made: Import) -> list[tuple[str, ImportKey]]:
    """Return other imports of its chain of retries, and the ZIP that it belongs to."""
    tenant = made.key.tenant_code
    found = [("part of", made.key.parent)] if made.key.parent else []
    if made.values.get("retry_of"):
        found.append(("retries", ImportKey(tenant, str(made.values["retry_of"]))))
    newest = _newest(visit, made)
    return found + ([("newest retry", newest)] if newest and newest != made.key else [])


def _newest(visit: Visit, made: Import) -> ImportKey | None:
    """Return the newest import of its chain; None if nothing was retried, or the first import was deleted."""
    first = made
    if made.first != made.key.import_id:
        try:
            first = imports.view(visit.stack, ImportKey(made.key.tenant_code, made.first)).made
        except ImportNotFound:
            return None
    return ImportKey(made.key.tenant_code, str(first.values["tip"])) if "tip" in first.values else None


def _retryable(seen: ImportView) -> bool:
    """True if rows are left to run again. Each file of a ZIP is retried separately."""
    left = seen.count("failed_rows") + seen.count("unprocessed_rows")
    return seen.made.status.final and not seen.children and not seen.made.validated and left > 0


def rows(visit: Visit) -> Mapping[str, Any]:
    """Return rows of an import by number, for the grid."""
    made = imports.view(visit.stack, _key(visit)).made
    first, count = _number(visit, "first", 1), _number(visit, "count", 100)
    found = import_rows.page(visit.stack, made, first, count)
    tenant = quote_path(made.key.tenant_code)
    lines = [asdict(row) | {"page": f"/commands/{tenant}/{quote_path(row.sk)}" if row.sk else ""} for row in found]
    return {"total": made.last_row, "final": made.status.final, "rows": lines}


def next_failed(visit: Visit) -> Mapping[str, Any]:
    """Return the position of the next failed row; null if there is none."""
    made = imports.view(visit.stack, _key(visit)).made
    after = _number(visit, "after", 0)
    code, column = visit.asked("code"), visit.asked("column")
    return {"position": import_rows.next_failed(visit.stack, made, after, code, column)}


def _number(visit: Visit, name: str, usual: int) -> int:
    text = visit.asked(name)
    return int(text) if text.isdecimal() and len(text) < 10 and text.isascii() else usual


def _key(visit: Visit) -> ImportKey:
    return imports.parse_key(f"{visit.path['tenant']}/{visit.path['import_id']}")


def _stop(visit: Visit, _values: Form, who: str) -> str:
    by = imports.stop(visit.stack, imports.parse_key(visit.asked("import")), who)
    return f"Stopped by {by}. The results follow, once the last batches have ended."


def _stop_effect(visit: Visit) -> str:
    seen = imports.view(visit.stack, imports.parse_key(visit.asked("import")))
    done, total = seen.count("processed_rows"), seen.count("total_rows")
    return (
        f"Stops the import {seen.name}, of which {done:,} of {total:,} rows have an outcome. What has not begun stays "
        "unprocessed, and can be retried."
    )


def _retry(visit: Visit, _values: Form, _who: str) -> str:
    return f"The import {_retried(visit)} runs the rows again."


def _check(visit: Visit, _values: Form, _who: str) -> str:
    return f"The import {_retried(visit, validate_only=True)} checks the rows. It stores none."


def _retried(visit: Visit, **options: Any) -> str:
    earlier = imports.parse_key(visit.asked("import"))
    request = {"tenant_code": earlier.tenant_code, "retry_of": earlier.import_id, **options}
    return name_of(imports.create(visit.stack, request))


STOP = Change(
    "stop-import",
    "Stop the import",
    effect=_stop_effect,
    command=lambda visit: ("imports", "stop", visit.asked("import")),
    run=_stop,
    parameters=("import",),
    needs=("ImportsTable",),
    dangerous=True,
)
RETRY = Change(
    "retry-import",
    "Retry the import",
    effect=lambda visit: (
        f"Runs the rows of {visit.asked('import')} again, as a new import. A row that is stored is reported, and never "
        "stored twice. To correct rows, save failed.csv by the command line and retry with it."
    ),
    command=lambda visit: ("imports", "retry", ("--of", visit.asked("import"))),
    run=_retry,
    parameters=("import",),
    needs=("ImportsTable",),
)
CHECK = Change(
    "check-import",
    "Check the rows",
    effect=lambda visit: f"Checks every row of {visit.asked('import')} again, as a new import that stores nothing.",
    command=lambda visit: ("imports", "retry", (("--of", visit.asked("import"))), ("--validate-only",)),
    run=_check,
    parameters=("import",),
    needs=("ImportsTable",),
)

_NEEDS = ("ImportsTable", "ImportCsvArn")
_ONE = "/imports/{tenant}/{import_id}"
PAGES = (
    Page("/imports", "imports.html", view, title="Imports", needs=_NEEDS, live=True),
    Page(_ONE, "import.html", one, needs=_NEEDS, live=True),
    data(f"{_ONE}/rows", rows, _NEEDS),
    data(f"{_ONE}/next-failed", next_failed, _NEEDS),
)
CHANGES = (STOP, RETRY, CHECK)
