"""Work under leases: running work, work with an unknown outcome, and the decisions that only a person can make."""

from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from accounts.processor import CREATE as CREATE_CARD
from idempotency import LeaseRecord, StateConflict, Status
from ordering.gateway import CHARGE
from stepwise.operations import work
from stepwise.operations.work import WorkNotFound

from .changes import Change, Field, Form
from .filters import one_of
from .pages import Page, Visit
from .rendering import quote_path

STATUSES = tuple(str(status) for status in Status if status not in (Status.COMPLETED, Status.RELEASED))
_LAST = 200
_OF = {CHARGE.name: "orders", CREATE_CARD.name: "applications"}
_REASON = Field("reason", "Why", "area", help="Kept on the record, with who decided and when.")


def view(visit: Visit) -> Mapping[str, Any]:
    """Return work that is in progress, unknown, held or failed, oldest first."""
    status = one_of(visit, "status", STATUSES)
    found = sorted(
        (one for one in work.listed(visit.stack) if status in ("", one.status)), key=lambda one: one.updated_at
    )
    lines = [_line(one) for one in found[:_LAST]]
    return {"leases": lines, "more": max(0, len(found) - _LAST), "statuses": STATUSES}


def _line(record: LeaseRecord) -> dict[str, Any]:
    key, _, name = record.key.rpartition("#")
    return {
        "record": record,
        "key": key,
        "work": name,
        "page": f"/leases/{quote_path(key)}",
        "status": str(record.status),
        "known": work.known(record),
        "subject": f"/{_OF[name]}/{quote_path(key)}" if name in _OF else "",
        "busy": record.in_progress(datetime.now(UTC)),
    }


def one(visit: Visit) -> Mapping[str, Any]:
    """Return all records of a business id, and the decisions of operators."""
    key = visit.path["key"]
    records = work.operations(visit.stack).find(key, work.NAMES)
    if not records:
        raise WorkNotFound(f"{key} has no record of any work ({', '.join(work.NAMES)})")
    audit = [(record.key.rpartition("#")[2], entry) for record in records for entry in record.audit]
    decided = sorted(audit, key=lambda pair: pair[1]["at"])
    return {"key": key, "leases": [_line(record) for record in records], "decisions": decided}


def _stored(visit: Visit) -> LeaseRecord:
    return work.record(visit.stack, visit.asked("key"), visit.asked("work"))


def _record(visit: Visit) -> LeaseRecord:
    """Return the record that the dialog describes. Raises StateConflict if it has changed since."""
    record = _stored(visit)
    if record.updated_at != visit.asked("updated_at"):
        raise StateConflict(f"{record.key} has changed since the form was opened; look again")
    return record


def _seen(visit: Visit) -> Form:
    return {"updated_at": _stored(visit).updated_at}


def _warning(visit: Visit, question: str) -> str:
    """Explain the effect of a decision on completed work; empty for other work."""
    record = _record(visit)
    if record.status is not Status.COMPLETED:
        return ""
    return f" It is COMPLETED with {record.result or 'no result'}: {question}"


def _release(visit: Visit, values: Form, who: str) -> str:
    record = _record(visit)
    work.operations(visit.stack).release(record, by=who, reason=values["reason"])
    return f"{record.key} is released: the next call does the work."


def _resolve(visit: Visit, values: Form, who: str) -> str:
    record, decided = _record(visit), {"by": who, "reason": values["reason"]}
    if values["outcome"] == _SUCCEEDED:
        work.operations(visit.stack).complete(record, work.parse_result(values["value"]), **decided)
    else:
        work.operations(visit.stack).fail(record, *work.parse_error(values["value"]), **decided)
    return f"{record.key} is resolved; duplicates get this outcome."


_SUCCEEDED, _FAILED = "it succeeded with this result", "it ended in this final error"
RELEASE = Change(
    "release-lease",
    "Release",
    effect=lambda visit: (
        f"Frees {visit.asked('work')} of {visit.asked('key')}: the next call does the work, regardless of earlier "
        f"attempts.{_warning(visit, 'the next call would do it a second time.')}"
    ),
    command=lambda visit: ("work", "release", visit.asked("key"), visit.asked("work"), ("--reason", "WHY")),
    run=_release,
    parameters=("key", "work", "updated_at"),
    seen=_seen,
    fields=(_REASON,),
    needs=("IdempotencyTable",),
    dangerous=True,
)
RESOLVE = Change(
    "resolve-lease",
    "Resolve",
    effect=lambda visit: (
        f"Records the outcome of {visit.asked('work')} of {visit.asked('key')}. Duplicates get it from now on."
        f"{_warning(visit, 'this replaces its result.')}"
    ),
    command=lambda visit: (
        *("work", "resolve", visit.asked("key"), visit.asked("work")),
        *(("--result", "JSON"), ("--reason", "WHY")),
    ),
    run=_resolve,
    parameters=("key", "work", "updated_at"),
    seen=_seen,
    fields=(
        Field("outcome", "Outcome", "choice", choices=(_SUCCEEDED, _FAILED), value=_SUCCEEDED),
        Field("value", "Result as JSON, or NAME:MESSAGE of the error", help='Such as "ch_1" in quotes, or null.'),
        _REASON,
    ),
    needs=("IdempotencyTable",),
    dangerous=True,
)

PAGES = (
    Page("/leases", "leases.html", view, title="Leases", needs=("IdempotencyTable",), live=True),
    Page("/leases/{key}", "lease.html", one, needs=("IdempotencyTable",), live=True),
)
CHANGES = (RELEASE, RESOLVE)
