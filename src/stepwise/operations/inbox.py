"""The inbox of on-call engineers: problems of all contexts, each with its cause and the next command."""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from accounts.definition import ACCOUNT_SETUP
from entities.lagging import GATE
from idempotency import LeaseRecord
from idempotency import Status as LeaseStatus
from imports.state import Import, ImportKey, Status
from stepwise.operations import audit, commands, imports, queues, recovery, runs, user_imports, work
from stepwise.operations.commands import name_of
from stepwise.operations.errors import Word
from stepwise.operations.executions import RUNNING
from stepwise.operations.imports import ImportNotFound
from stepwise.operations.runs import Run
from stepwise.operations.stack import Stack

type Alarm = Mapping[str, Any]

_PROBLEMS = {
    LeaseStatus.HELD: "held: a person must find out whether it took effect",
    LeaseStatus.UNKNOWN: "unknown: an attempt was interrupted and may have taken effect",
    LeaseStatus.IN_PROGRESS: "unknown: its lease expired, so its owner crashed",
}
_LAGS = {GATE: ("the gate contradicts the key's rows", "GatesTable or DataTable was restored alone, or edited by hand")}
# Sparse index of waiting approvals, by group and time.
_WAITING, _DUE = "waiting", "waiting_until"
_LAST = 200
"""Number of the tenant's imports that are searched for a retry, or for another import of the file."""
_USER_IMPORT = "UserImportArn"
_ONLY = "only"
# An alarm on several durations watches each as a share of its own limit.
_SHARE = re.compile(r"FILL\((?P<id>\w+), 0\) / (?P<limit>\d+)")
"""Id of the metric in an alarm on one metric."""


@dataclass(frozen=True, slots=True)
class Concern:
    """A problem.

    context: a name of the command line, such as "orders". problem: what is wrong. cause: why, if known.
    since: ISO 8601; empty if unknown. see: a command of `stepwise`, without the options that choose the stack.
    """

    context: str
    id: str
    problem: str
    cause: str
    see: tuple[Word, ...]
    since: str = ""


def concerns(stack: Stack, name: str) -> Iterator[Concern]:
    """Yield what needs an operator, by context, oldest first. name: the root stack's name.

    A context that cannot be read is a separate concern, so that neither a missing permission nor an odd row hides the
    other contexts.
    """
    for context, (output, provider) in PROVIDERS.items():
        if output and output not in stack.outputs:
            continue
        try:
            yield from sorted(provider(stack, name), key=lambda one: (one.since, one.id))
        except Exception as error:
            cause = str(error) if isinstance(error, ClientError | BotoCoreError) else repr(error)
            yield Concern(context.replace("_", "-"), "", "cannot be read", cause, ("status",))


def _orders(stack: Stack, _name: str) -> Iterator[Concern]:
    """Yield orders with steps in effect after a compensation gave up, or while it fails repeatedly.

    Also orders that contradict their payments or reservations, as the sweeps find them.
    """
    for one in recovery.failing(stack):
        since = one.retrying.since.isoformat() if one.retrying else ""
        state = "in effect" if one.retrying and one.saga == RUNNING else "not undone"
        problem = f"{', '.join(one.standing)} {state}{_amount(stack, one.saga_id)}; saga {one.problem}"
        document: list[Word] = [("--file", "ORDER.json")] if one.document_lost else []
        see = ("show", one.saga_id) if one.row_edited or one.retrying else ("recover", one.saga_id, *document)
        yield Concern("orders", one.saga_id, problem, str(one.cause or ""), see, since)
    cause = "a row was deleted, edited or restored without the others; put it back (docs/deploy.md, Put back one row)"
    for lost in audit.noted(stack):
        yield Concern("orders", lost.order_id, lost.problem, cause, ("show", lost.order_id))


def _amount(stack: Stack, order_id: str) -> str:
    """Format the captured money, if any."""
    payment = stack.row("PaymentsTable", order_id=order_id)
    if payment is None or payment.get("status") != "Captured" or "amount" not in payment:
        return ""
    return f" ({int(payment['amount']):,} {payment['currency']} captured)"


def _work(stack: Stack, _name: str) -> Iterator[Concern]:
    """Yield work under leases whose outcome is unknown, or that waits for a person."""
    for record in work.listed(stack):
        if work.is_undecided(stack, record):
            yield _work_concern(record)


def _work_concern(record: LeaseRecord) -> Concern:
    cause = ": ".join(record.error) if record.error else f"attempt {record.attempt} never said how it ended"
    key = record.key.rpartition("#")[0]
    return Concern("work", record.key, _PROBLEMS[record.status], cause, ("work", "show", key), record.updated_at)


def _commands(stack: Stack, _name: str) -> Iterator[Concern]:
    """Yield keys that a dead version blocks, and lagging targets."""
    for one in commands.blocked(stack):
        name = name_of(one.gate.key)
        problem = f"version {one.gate.turn} is dead; {one.gate.published - one.gate.turn} wait for it"
        yield Concern("commands", name, problem, one.error, ("commands", "retry", name, ("--reason", "WHY")), one.since)
    for one in commands.lagging(stack):
        name = name_of(one.gate.key)
        for target in sorted(one.gate.lagging):
            see = ("commands", "rebuild", target, ("--key", name))
            problem, cause = _LAGS.get(target, (f"{target} lags behind", "it could not be written in time"))
            yield Concern("commands", name, problem, cause, see, one.since)


def _approvals(stack: Stack, _name: str) -> Iterator[Concern]:
    """Yield approvals that are past their due time and whose waiting states should have continued."""
    now = datetime.now(UTC).isoformat(timespec="microseconds")
    for row in stack.rows("ApprovalsTable", index=_WAITING):
        if row[_DUE] < now:
            cause = f"group {row['group']} did not decide, and the sweep has not ended it"
            see = ("approvals", "show", row["approval_id"])
            yield Concern("approvals", row["approval_id"], "overdue", cause, see, row[_DUE])


def _applications(stack: Stack, _name: str) -> Iterator[Concern]:
    """Yield failed account setups with steps in effect after a compensation gave up."""
    for one in recovery.failing(stack, ACCOUNT_SETUP):
        since = one.retrying.since.isoformat() if one.retrying else ""
        problem = f"{', '.join(one.standing)} not undone; setup {one.problem}"
        see = ("applications", "show" if one.row_edited or one.retrying else "recover", one.saga_id)
        yield Concern("applications", one.saga_id, problem, str(one.cause or ""), see, since)


def _imports(stack: Stack, _name: str) -> Iterator[Concern]:
    """Yield imports of rows that failed as a whole or were cut off, and were neither stopped nor retried.

    A DIRECT import has no execution: its caller has its outcome.
    """
    for output in ("ImportCsvArn", "ImportZipArn"):
        for run in runs.failed(stack, output):
            yield from _import_concern(stack, run)


def _import_concern(stack: Stack, run: Run) -> Iterator[Concern]:
    try:
        key = _import_key(run.input)
        made = imports.view(stack, key).made
    except ImportNotFound:
        return
    problem = _import_problem(made)
    if problem and not made.stopped and not _done_since(stack, made):
        name = imports.name_of(key)
        yield Concern(
            "imports", name, problem, _import_cause(made, run), ("imports", "show", name), run.started.isoformat()
        )


def _import_key(text: str) -> ImportKey:
    """Return the import of an execution. Raises ImportNotFound: somebody started it by hand, with another input."""
    match json.loads(text):
        case {"tenant_code": str(tenant_code), "import_id": str(import_id)}:
            return ImportKey(tenant_code, import_id)
    raise ImportNotFound("this execution did not run an import")


def _import_problem(made: Import) -> str:
    """Describe the problem; empty if there is none, or as long as its end has not been recorded."""
    if made.status is Status.FAILED:
        return "failed"
    if not made.status.final:
        return ""
    if made.zip:
        # The rows that did not run are those of its entries, which are separate imports.
        return "cut off; not all of its entries were imported" if "error" in made.values else ""
    left = int(made.values.get("unprocessed_rows", 0))
    return f"cut off; {left:,} rows did not run" if left else ""


def _done_since(stack: Stack, made: Import) -> bool:
    """True if it was retried, or a later import of its file has not failed."""
    others = imports.of_tenant(stack, made.key.tenant_code, _LAST)
    ran = [one for one in others if not one.validated]
    return any(one.values.get("retry_of") == made.key.import_id or _replaces(one, made) for one in ran)


def _replaces(one: Import, made: Import) -> bool:
    same = imports.file_of(one) == imports.file_of(made)
    return same and one.created > made.created and one.status is not Status.FAILED


def _import_cause(made: Import, run: Run) -> str:
    error = made.values.get("error")
    return f"{error['code']}: {error['message']}" if error else run.cause


def _user_imports(stack: Stack, _name: str) -> Iterator[Concern]:
    """Yield imports of users that failed as a whole, if none of their file has succeeded since."""
    failed = runs.failed(stack, _USER_IMPORT)
    succeeded = runs.listed(stack, _USER_IMPORT, "SUCCEEDED", min(one.started for one in failed)) if failed else []
    for run in failed:
        if not any(later.started > run.started and _file(later) == _file(run) for later in succeeded):
            see = ("user-imports", "show", run.name)
            yield Concern("user-imports", run.name, run.status.lower(), run.cause, see, run.started.isoformat())


def _file(run: Run) -> str:
    """Return the name of its file; empty for the newest one in the bucket.

    `import` stores a file whose name has no date below a folder of its name, under a name with the date of the day.
    """
    folder, _, name = user_imports.key_of(run.input).rpartition("/")
    return folder.removeprefix("manual/") if folder.startswith("manual/") else name


def _queues(stack: Stack, name: str) -> Iterator[Concern]:
    """Yield messages in dead-letter queues, and stream records that could not be handled."""
    for one in queues.listed(stack, name):
        if one.is_for_failures and one.waiting:
            what = ("stream record" if one.holds_records else "message") + ("" if one.waiting == 1 else "s")
            problem, see = f"{one.waiting} {what} failed", queues.command_of(one.name)
            yield Concern("queues", one.name, problem, queues.cause(stack, one), see)


def _mappings(stack: Stack, name: str) -> Iterator[Concern]:
    """Yield disabled event source mappings. Nothing else notices one: while it is off, its metrics have no data."""
    pages = stack.client("lambda").get_paginator("list_event_source_mappings").paginate()
    found = [one for page in pages for one in page["EventSourceMappings"] if f":function:{name}-" in one["FunctionArn"]]
    off = {one["UUID"]: one for one in found if one["State"] in ("Disabling", "Disabled")}
    # Listing the resources of all nested stacks takes seconds.
    for logical_id, uuid in stack.resources(name, "AWS::Lambda::EventSourceMapping") if off else ():
        if uuid in off:
            cause = f"aws lambda update-event-source-mapping --uuid {uuid} --enabled"
            since = off[uuid]["LastModified"].astimezone(UTC).isoformat(timespec="seconds")
            yield Concern("mappings", logical_id, "is disabled: nothing reads its source", cause, ("status",), since)


def _alarms(stack: Stack, name: str) -> Iterator[Concern]:
    """Yield active alarms, each with its cause: one alarm watches up to ten resources."""
    pages = stack.client("cloudwatch").get_paginator("describe_alarms").paginate(StateValue="ALARM")
    on = {alarm["AlarmName"]: alarm for page in pages for alarm in page["MetricAlarms"]}
    # Listing the resources of all nested stacks takes seconds.
    if not any(one.startswith(f"{name}-") for one in on):
        return
    for logical_id, physical_id in stack.resources(name, "AWS::CloudWatch::Alarm"):
        if alarm := on.get(physical_id):
            try:
                cause = "; ".join(_alarm_causes(stack, alarm))
            except (BotoCoreError, ClientError):
                # Show that the alarm is on, even if reading metrics is denied or throttled.
                cause = ""
            went_on = alarm.get("StateTransitionedTimestamp") or alarm["StateUpdatedTimestamp"]
            since, cause = went_on.astimezone(UTC).isoformat(timespec="seconds"), cause or alarm["StateReason"]
            yield Concern("alarms", logical_id, "is on: docs/alarms.md", cause, ("status",), since)


def _alarm_causes(stack: Stack, alarm: Alarm) -> Iterator[str]:
    """Yield the metrics that breach the alarm's threshold now, with their values."""
    missing = alarm["ComparisonOperator"] == "LessThanThreshold"
    queries = [query for query in alarm.get("Metrics") or [_only(alarm)] if "MetricStat" in query]
    period = timedelta(seconds=max(query["MetricStat"]["Period"] for query in queries))
    now = datetime.now(UTC)
    answer = stack.client("cloudwatch").get_metric_data(
        MetricDataQueries=[{**query, "ReturnData": True} for query in queries],
        StartTime=now - period * alarm["EvaluationPeriods"],
        # Excluded itself.
        EndTime=now + period,
    )
    values = {result["Id"]: result["Values"] for result in answer["MetricDataResults"]}
    shares = [_SHARE.fullmatch(query.get("Expression", "")) for query in alarm.get("Metrics", [])]
    limits = {share["id"]: int(share["limit"]) for share in shares if share}
    for query in queries:
        found = values.get(query["Id"], [])
        value = sum(found) if missing else max(found, default=0)
        threshold = alarm["Threshold"] * limits.get(query["Id"], 1)
        if value < threshold if missing else value >= threshold:
            # The id is the snake case of the function's, queue's or machine's name; a mapping's own name is a UUID.
            name = "" if query["Id"] == _ONLY else query["Id"].title().replace("_", "") + ": "
            yield f"{name}{query['MetricStat']['Metric']['MetricName']} {value:g}"


def _only(alarm: Alarm) -> Mapping[str, Any]:
    """Return the query of an alarm without metric math."""
    metric = {name: alarm[name] for name in ("Namespace", "MetricName", "Dimensions") if name in alarm}
    statistic = alarm.get("Statistic") or alarm["ExtendedStatistic"]
    return {"Id": _ONLY, "MetricStat": {"Metric": metric, "Period": alarm["Period"], "Stat": statistic}}


PROVIDERS: Mapping[str, tuple[str, Callable[[Stack, str], Iterable[Concern]]]] = {
    "orders": ("OrdersTable", _orders),
    "work": ("IdempotencyTable", _work),
    "commands": ("GatesTable", _commands),
    "approvals": ("ApprovalsTable", _approvals),
    "applications": ("AccountSetupArn", _applications),
    "imports": ("ImportCsvArn", _imports),
    "user_imports": ("UserImportArn", _user_imports),
    "queues": ("", _queues),
    "mappings": ("", _mappings),
    "alarms": ("", _alarms),
}
"""By context: an output that the stack has if the context is deployed, and the function that yields its concerns."""
