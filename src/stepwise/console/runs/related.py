"""The starter of an execution, and related executions: for a saga, its recovery and its finalization."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import takewhile
from typing import Any

from accounts.definition import ACCOUNT_SETUP
from idempotency.payloads import read_json
from idempotency.saga import Saga
from ordering.definition import ORDER_SAGA
from stepwise.console.cache import Recent
from stepwise.console.pages import Visit
from stepwise.operations import logs, machines
from stepwise.operations.executions import recovery_names
from stepwise.operations.logs import Line
from stepwise.operations.machines import Described, Listed
from stepwise.operations.stack import Row

SAGAS = (ORDER_SAGA, ACCOUNT_SETUP)
_FINALIZERS = {ORDER_SAGA.machine: "FinalizeOrder", ACCOUNT_SETUP.machine: "FinalizeAccount"}
# Step Functions adds it to the input of a nested execution if told to.
_STARTED_BY = "AWS_STEP_FUNCTIONS_STARTED_BY_EXECUTION_ID"
_IMPORT = "the stream of the Imports table, when the import was created; the queue ImportAction; or the sweep"
STARTERS = {
    "OrderSaga": "StartExecution with the order's id: POST /orders, ./stepwise place, or a call of your own",
    "OrderRecovery": "the saga's finalization, the sweep, or an operator",
    "AccountOpening": "the stream of the Applications table, when the application was submitted; or the sweep",
    "AccountSetup": "the state Approve Application of account-opening",
    "AccountRecovery": "the saga's finalization, the sweep, or an operator",
    "Command": "the stream of the Commands table, when the version was published; a retry; or the sweep",
    "ImportCsv": _IMPORT,
    "ImportZip": _IMPORT,
    "Task": "the stream of the Tasks table, when the task was created; a retry; or the sweep",
    "UserImport": "the upload of a file, or ./stepwise import",
}
_SAME_NAME = {
    "AccountOpening": (("AccountSetup", "Setup"),),
    "AccountSetup": (("AccountOpening", "Application"),),
    "AccountRecovery": (("AccountOpening", "Application"),),
}
_LATE = timedelta(minutes=10)
_lines: Recent[list[Line]] = Recent(64, seconds=2)


@dataclass(frozen=True, slots=True)
class Relation:
    """A related execution. what: how it is related, such as `Recovery`."""

    what: str
    run: Listed


@dataclass(frozen=True, slots=True)
class Finalization:
    """Finalization of a saga. status: the status in the saga's row. standing: steps that are not undone.

    lines: its function's log.
    """

    function: str
    status: str
    at: str
    standing: Sequence[str]
    lines: Sequence[Line]


@dataclass(frozen=True, slots=True)
class Related:
    """Everything related. starter: in words. finalization: None if there is no saga or no row."""

    starter: str
    runs: Sequence[Relation]
    finalization: Finalization | None = None


def related(visit: Visit, described: Described) -> Related:
    saga = next((one for one in SAGAS if described.listed.machine in (one.machine, one.recovery)), None)
    document = _document(described.input)
    found = list(_around(visit, described, document))
    if saga is None:
        return Related(_starter(described), found)
    saga_id = _saga_id(saga, described, document)
    found += _of_saga(visit, saga, saga_id, described.listed)
    return Related(_starter(described), found, _finalization(visit, saga, saga_id, described))


def _starter(described: Described) -> str:
    return STARTERS.get(described.listed.machine, "StartExecution")


def _around(visit: Visit, described: Described, document: Any) -> Iterator[Relation]:
    """Yield the execution that started this one, and that of the same application."""
    parent = document.get(_STARTED_BY) if isinstance(document, dict) else None
    known = machines.named(visit.stack, parent) if isinstance(parent, str) else None
    found = machines.find(visit.stack, *known) if known else None
    if found:
        yield Relation("Started by", found.listed)
    for machine, what in _SAME_NAME.get(described.listed.machine, ()):
        other = machines.find(visit.stack, machine, described.listed.name)
        if other and other != found:
            yield Relation(what, other.listed)


def _of_saga(visit: Visit, saga: Saga, saga_id: str, own: Listed) -> Iterator[Relation]:
    if own.machine == saga.recovery:
        started = machines.find(visit.stack, saga.machine, saga_id)
        yield from [Relation("Saga", started.listed)] if started else []
    tried = (machines.find(visit.stack, saga.recovery, name) for name in recovery_names(saga_id))
    for found in takewhile(bool, tried):
        if found and (found.listed.machine, found.listed.name) != (own.machine, own.name):
            yield Relation("Recovery", found.listed)


def _saga_id(saga: Saga, described: Described, document: Any) -> str:
    """Return the id in the input or, without one, the execution's name."""
    try:
        return str(saga.id_of(document)) if document is not None else described.listed.name
    except (AttributeError, KeyError, TypeError, ValueError):
        return described.listed.name


def _finalization(visit: Visit, saga: Saga, saga_id: str, described: Described) -> Finalization | None:
    row = visit.stack.row(saga.first.table, **{saga.first.key: saga_id})
    if row is None:
        return None
    function = _FINALIZERS[saga.machine]
    ended = described.listed.ended
    return Finalization(
        function,
        str(row.get("status", "")),
        str(row.get("updated_at", "")),
        saga.named(_standing(row)),
        _logged(visit, function, saga_id, described.listed.started) if ended else [],
    )


def _standing(row: Row) -> frozenset[str]:
    return frozenset(map(str, row.get("standing") or ()))


def _logged(visit: Visit, function: str, saga_id: str, since: datetime) -> list[Line]:
    group = f"/aws/lambda/{visit.settings.stack_name}/{function}"
    until = min(datetime.now(UTC), since + timedelta(days=1)) + _LATE
    return _lines.get((group, saga_id), lambda: logs.of_function(visit.stack, group, since, until, saga_id))


def _document(text: str) -> Any:
    try:
        return read_json(text)
    except ValueError:
        return None
