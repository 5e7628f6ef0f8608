"""The shapes that --json prints; docs/cli.md lists the fields. None has a secret, a token, or a value of a row."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from approvals.state import Approval
    from idempotency import LeaseRecord
    from imports.state import Import
    from stepwise.operations.applications import Summary
    from stepwise.operations.causes import Cause
    from stepwise.operations.commands import KeyView, Listed
    from stepwise.operations.executions import Execution
    from stepwise.operations.import_results import Reason
    from stepwise.operations.imports import ImportView
    from stepwise.operations.orders import OrderView
    from stepwise.operations.queues import QueueView
    from stepwise.operations.runs import Run
    from stepwise.operations.screening import Barred
    from stepwise.operations.tasks import TaskView
    from tasks.state import Item, Task
    from webhooks.state import Delivery, Subscription

_ORDER = ("status", "total", "currency", "items", "created_at", "revision", "standing")
_PAYMENT = ("status", "payment_id", "amount", "currency", "updated_at")
_RESERVATION = ("status", "items", "updated_at")
_CHARGE = ("status", "attempt", "updated_at")
_IMPORT = (
    *("tenant_code", "import_id", "type", "status", "processing_mode", "key", "validated", "entries", "options"),
    *("total_rows", "processed_rows", "succeeded_rows", "failed_rows", "unprocessed_rows"),
    *("created_rows", "updated_rows", "unchanged_rows", "retry_of", "stopped_by", "error", "results"),
    *("created_at", "updated_at", "ended_at"),
)
_TASK = (
    *("tenant_code", "task_id", "task_type", "status", "attempt", "total_items", "completed_items", "failed_items"),
    *("created_at", "started_at", "ended_at", "deadline", "error"),
)
_WEBHOOK = ("webhook_id", "address", "events", "status", "last_outcome", "last_at", "failing_since")
_APPROVAL = (
    *("subject", "group", "requested_by", "requested_at", "due_at", "decided_by", "decided_at", "cancelled_at"),
    *("comment", "execution_arn", "took_effect"),
)
_DELIVERY = ("webhook_id", "event_id", "type", "status", "attempts", "last_outcome", "failed_at")


def order(view: OrderView) -> dict[str, Any]:
    steps = [{"step": name, **_some(row, ("status", "updated_at"))} for name, row in view.steps.items()]
    return {
        "order_id": view.order_id,
        "saga": execution(view.execution) if view.execution else None,
        "recoveries": [execution(one) for one in view.recoveries],
        "order": _some(view.order, _ORDER) or None,
        "payment": _some(view.payment, _PAYMENT) or None,
        "reservation": _some(view.reservation, _RESERVATION) or None,
        "charge": _some(view.charge, _CHARGE) or None,
        "steps": steps,
    }


def order_row(row: Mapping[str, Any]) -> dict[str, Any]:
    return {"order_id": row["order_id"], **_some(row, _ORDER)}


def execution(one: Execution) -> dict[str, Any]:
    """Return an execution without its input, which holds the payment's token."""
    states = [
        {
            "state": visit.name,
            "entered_at": visit.entered,
            "milliseconds": visit.milliseconds,
            "attempts": visit.attempts,
            "cause": _cause(visit.cause),
        }
        for visit in one.states
    ]
    times = {"started_at": one.started, "ended_at": one.ended}
    return {"name": one.name, "status": one.status, "cause": _cause(one.last), **times, "states": states}


def _cause(cause: Cause | None) -> dict[str, Any] | None:
    return {"error": cause.name, "message": cause.message, "times": cause.times} if cause else None


def run(one: Run) -> dict[str, Any]:
    ended = one.ended.isoformat() if one.ended else None
    failed = {"error": one.error or None, "cause": one.message or None}
    return {"name": one.name, "status": one.status, "started_at": one.started, "ended_at": ended, **failed}


def work(record: LeaseRecord) -> dict[str, Any]:
    key, _, name = record.key.rpartition("#")
    error = dict(zip(("type", "message"), record.error, strict=True)) if record.error else None
    times = {"lease_until": record.lease_until, "created_at": record.created_at, "updated_at": record.updated_at}
    decisions = [dict(entry) for entry in record.audit]
    status = {"status": str(record.status), "attempt": record.attempt, "error": error, "decisions": decisions}
    return {"id": key, "work": name, **status, **times}


def key(view: KeyView) -> dict[str, Any]:
    from stepwise.operations.commands import error_of, name_of

    gate = view.gate
    versions = [
        {
            "version": version,
            "status": row.status,
            "standing": view.standing(version),
            "attempt": row.attempt,
            "updated_at": row.updated_at,
            "error": error_of(row) or None,
        }
        for version, row in sorted(view.commands.items())
    ]
    counts = {"published": gate.published, "finished": gate.finished, "data_version": gate.data_version}
    state = {"blocked": gate.blocked, "lagging": sorted(gate.lagging), "targets": dict(view.shown)}
    return {"key": name_of(gate.key), "type": gate.type, **counts, **state, "versions": versions}


def listed_key(one: Listed) -> dict[str, Any]:
    from stepwise.operations.commands import name_of

    gate = one.gate
    waiting = {"blocked": gate.blocked, "next_version": gate.turn, "waiting": gate.published - gate.turn}
    found = {"lagging": sorted(gate.lagging), "since": one.since, "error": one.error or None}
    return {"key": name_of(gate.key), **waiting, **found}


def import_(made: Import) -> dict[str, Any]:
    return _some(made.values, _IMPORT)


def import_view(seen: ImportView, reasons: Iterable[Reason] = ()) -> dict[str, Any]:
    told = [
        {"code": one.code, "column": one.column, "message": one.message, "rows": one.rows, "examples": one.examples}
        for one in reasons
    ]
    children = [import_(child) for child in seen.children]
    return {"import": import_(seen.made), "children": children, "reasons": told}


def task(made: Task) -> dict[str, Any]:
    return _some(made.values, _TASK)


def task_view(seen: TaskView, *, every_item: bool = False) -> dict[str, Any]:
    items = seen.items if every_item else seen.failed
    return {"task": task(seen.task), "items": [_item(one) for one in items]}


def webhook(one: Subscription) -> dict[str, Any]:
    return {"tenant_code": one.key.tenant_code, **_some(one.values, _WEBHOOK)}


def delivery(one: Delivery) -> dict[str, Any]:
    return {"tenant_code": one.key.tenant_code, **_some(one.values, _DELIVERY)}


def approval(one: Approval) -> dict[str, Any]:
    return {"approval_id": one.id, "status": str(one.status), **_some(one.values, _APPROVAL)}


def application(one: Summary) -> dict[str, Any]:
    """Return an application without the applicant."""
    lists = {"flags": list(one.flags), "reason": one.reason or None, "standing": list(one.standing)}
    times = {"submitted_at": one.submitted_at, "updated_at": one.updated_at}
    checked = {"document_version": one.document_version or None}
    return {"application_id": one.application_id, "status": one.status, **lists, **checked, **times}


def barred(one: Barred) -> dict[str, Any]:
    """Return a barred name's record without the name."""
    return {"added_at": one.added_at, "added_by": one.added_by}


def queue(one: QueueView) -> dict[str, Any]:
    counts = {"waiting": one.waiting, "in_flight": one.in_flight}
    return {"name": one.name, "failures": one.is_for_failures, "source": one.source or None, **counts}


def _item(one: Item) -> dict[str, Any]:
    """Return an item without its content and its result, which are the tenant's."""
    error = one.error.values if one.error else None
    return {"item": one.number, "status": str(one.status), "attempts": one.attempts, "error": error}


def _some(row: Mapping[str, Any] | None, names: Iterable[str]) -> dict[str, Any]:
    return {name: row[name] for name in names if name in row} if row else {}
