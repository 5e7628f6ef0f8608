"""Orders that need attention, and their recovery by command."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

from botocore.exceptions import ClientError

from idempotency import COMMITTED, COMPENSATED, PayloadHash, StateConflict, StepStore
from idempotency.saga import Saga, SagaStep
from idempotency.saga.executions import INTERRUPTED
from idempotency.saga.finalization import adopt_lost
from idempotency.saga.state import SagaReader, SagaState
from idempotency.saga.step import Item
from idempotency.saga.table import UNSETTLED
from ordering.definition import ORDER_SAGA

from .causes import Cause
from .errors import CommandError
from .executions import RUNNING, SUCCEEDED, Execution, execution_arn, find, recoveries, recovery_names
from .orders import OrderNotFound
from .retrying import Retrying, retrying
from .sagas import saga_of
from .stack import Stack

# By then, FinalizeOrder has made its three attempts.
_FINALIZED_WITHIN = timedelta(minutes=10)


class NothingToRecover(CommandError):
    """A recovery must not touch the order; the message says why."""


class NotTheOrder(CommandError):
    """Another document created the standing steps, so a recovery with this one would undo nothing.

    Nothing was started.
    """


@dataclass(frozen=True, slots=True)
class Attention:
    """A saga that an operator should look at. standing: the steps that are not undone.

    cause: the cause of the last failure.
    document_lost: whether no execution has the input any more, so that `recover` needs it.
    retrying: the state that its saga, or its running recovery, fails at.
    """

    saga_id: str
    saga: str
    recovery: str
    standing: tuple[str, ...]
    cause: Cause | None = None
    document_lost: bool = False
    retrying: Retrying | None = None

    @property
    def row_edited(self) -> bool:
        """True if a row differs from its step record, so that a recovery fails until the row is written back."""
        return self.recovery == "FAILED" and self.cause is not None and self.cause.error == StateConflict.__name__

    @property
    def problem(self) -> str:
        """The problem, after the name of the saga's execution."""
        if self.retrying:
            again = f"{self.retrying.state} fails, next try by {self.retrying.next_by:%H:%M:%S} UTC"
            return f"{self.saga}, recovery {self.recovery}: {again}"
        write_back = "; first write the edited row back (docs/alarms.md, RecoveryFailedAlarm), then recover"
        return f"{self.saga}, recovery {self.recovery}{write_back if self.row_edited else ''}"


def recover(stack: Stack, saga_id: str, document: Any = None, *, saga: Saga = ORDER_SAGA) -> str:
    """Start the saga's recovery, or find the running one. Returns the name of its execution.

    document: the saga's input; by default the execution's. Required if no execution of the last hours has this id in
        its input, or if other calls under this id had a different payload.
    Raises OrderNotFound; NothingToRecover if the saga is running or has succeeded; NotTheOrder.
    """
    called, reader = saga.called(saga_id), _reader(stack, saga)
    state = reader.read(saga_id)
    if state.confirmed:
        lost = "" if state.row else "; its row is lost: put it back (docs/deploy.md, Put back one row)"
        raise NothingToRecover(f"{called} has succeeded{lost}")
    found = saga_of(stack, saga_id, _created(state), saga)
    if found is None and state.untouched:
        raise OrderNotFound(f"{called} is unknown")
    if found is None and document is None:
        raise OrderNotFound(f"{called} has no saga whose input is known; pass the original {saga.noun} with --file")
    if found and found.status == RUNNING:
        raise NothingToRecover(f"the saga of {called} is still running; stop it first if it must not continue")
    if found and found.status == "SUCCEEDED" and state.all_standing:
        raise NothingToRecover(f"{called} has succeeded; its finalization or the sweep will confirm it")
    if document is None and found:
        document = json.loads(found.input)
    _require_the_order(saga_id, state, document)
    steps = StepStore(stack.dynamodb, stack.outputs["IdempotencyTable"])
    adopt_lost(steps, reader, saga_id, state, saga.parse(document), document, datetime.now(UTC))
    return _start(stack, saga, saga_id, document)


def redrive(stack: Stack, saga_id: str, *, saga: Saga = ORDER_SAGA) -> None:
    """Continue a held execution from the state in which it was stopped. Step Functions allows that for 14 days.

    Raises OrderNotFound, or NothingToRecover: the saga is not held when interrupted, the execution ended otherwise, or
    a step was undone or barred since.
    """
    called, found, state = saga.called(saga_id), find(stack, saga.machine, saga_id), _reader(stack, saga).read(saga_id)
    if found is None:
        raise OrderNotFound(f"{called} has no saga of that name")
    if saga.on_interruption != "hold":
        raise NothingToRecover(f"{saga.name} is not held when it is stopped; recover {called} without --forward")
    if found.status not in INTERRUPTED:
        raise NothingToRecover(f"the saga of {called} is {found.status}; only a stopped or timed-out one can continue")
    gone = [step.name for step in saga.all_steps if not _may_go_on(state, step)]
    if gone:
        raise NothingToRecover(f"{called}: {', '.join(gone)} is undone or barred; recover it without --forward")
    try:
        stack.stepfunctions.redrive_execution(executionArn=execution_arn(stack, saga_id, output=f"{saga.machine}Arn"))
    except ClientError as error:
        if error.response["Error"]["Code"] != "ExecutionNotRedrivable":
            raise
        raise NothingToRecover(f"{called}: Step Functions no longer redrives its execution") from None


def _may_go_on(state: SagaState, step: SagaStep) -> bool:
    """True if the step has not run or is in effect, and no record bars it."""
    status, row = state.record_status(step), state.rows[step.name]
    return step.is_standing(row) if status == COMMITTED else status is None and row is None


def _start(stack: Stack, saga: Saga, saga_id: str, document: Any) -> str:
    for name in recovery_names(saga_id):
        last = find(stack, saga.recovery, name)
        if last is None:
            stack.stepfunctions.start_execution(
                stateMachineArn=stack.outputs[f"{saga.recovery}Arn"],
                name=name,
                input=json.dumps(document, sort_keys=True),
            )
        # A recovery with another document does not undo what this document made.
        if last is None or (last.status == RUNNING and json.loads(last.input) == document):
            return name
    raise AssertionError("there is always a next name")


def recovery(stack: Stack, name: str) -> Execution | None:
    """Return a recovery of an order by the name of its execution, if there is one."""
    return find(stack, ORDER_SAGA.recovery, name)


def needing_attention(stack: Stack, saga: Saga = ORDER_SAGA) -> list[Attention]:
    """Return sagas that ended with something left to undo, and for which no recovery is running."""
    return [one for one in failing(stack, saga) if one.retrying is None]


def failing(stack: Stack, saga: Saga = ORDER_SAGA) -> list[Attention]:
    """Return these, and sagas that are running, or being recovered, and fail again and again at one state."""
    reader = _reader(stack, saga)
    listed = sorted(row[UNSETTLED] for row in stack.rows(saga.first.table, index=UNSETTLED))
    found = (_attention(stack, saga, saga_id, reader.read(saga_id)) for saga_id in listed)
    return [attention for attention in found if attention]


def _reader(stack: Stack, saga: Saga) -> SagaReader:
    # The root stack has an output for each table of a saga's steps; a saga of its own stack has StepTables alone.
    tables = {**stack.outputs, **json.loads(stack.outputs["StepTables"])}
    return SagaReader(saga, stack.dynamodb, tables, stack.outputs["IdempotencyTable"])


def _require_the_order(saga_id: str, state: SagaState, document: Any) -> None:
    """Check that the document is that of a standing step or, if no step tells, that of the saga's row."""
    saga, first = state.saga, state.saga.first
    if saga.id_of(document) != saga_id:
        raise NotTheOrder(f"{saga.id_field}: the document has another id than {saga.called(saga_id)}")
    standing = [step for step in saga.deployed if step.name in state.standing]
    verdicts = {step.name: _is_of(step, state, document) for step in standing}
    told = {name: verdict for name, verdict in verdicts.items() if verdict is not None}
    request = saga.parse(document)
    if not told and _tells(first, state.row, request):
        told = {first.name: first.is_of(state.row or {}, request)}
    if told and not any(told.values()):
        made = ", ".join(told)
        raise NotTheOrder(f"{saga.called(saga_id)}: another document made {made}; pass that one with --file")


def _tells(step: SagaStep, row: Item | None, request: Any) -> bool:
    """True if a row identifies its document. The row of a saga without valid input does not."""
    return row is not None and all(row.get(name) not in (None, {"L": []}) for name in step.facts(request))


def _is_of(step: SagaStep, state: SagaState, document: Any) -> bool | None:
    """Return whether this document created a standing step: by its record, else by its row. None if neither tells."""
    record, row = state.records[step.name], state.rows[step.name]
    if record and "result" in record and record["status"]["S"] != COMPENSATED:
        return PayloadHash.of(document).matches(record)
    return step.is_of(row, state.saga.parse(document)) if row else None


def _attention(stack: Stack, saga: Saga, saga_id: str, state: SagaState) -> Attention | None:
    # A row that was put back may be open although its records are sealed.
    if state.status == saga.confirmed or not state.standing:
        return None
    found = saga_of(stack, saga_id, _created(state), saga)
    ended = [*([found] if found else []), *recoveries(stack, saga.recovery, saga_id)]
    tried = len(ended) > bool(found)
    running = [one for one in ended if one.status == RUNNING]
    if running:
        again = retrying(stack, saga.machine if running[-1] is found else saga.recovery, running[-1])
        status, recovery_status = found.status if found else "none", ended[-1].status if tried else "none"
        standing = saga.named(state.standing)
        return Attention(saga_id, status, recovery_status, standing, again.cause, retrying=again) if again else None
    if _is_about_to_be_confirmed(ended[-1:]):
        return None
    return Attention(
        saga_id,
        found.status if found else "none",
        ended[-1].status if tried else "none",
        saga.named(state.standing),
        ended[-1].last if ended else None,
        document_lost=found is None,
    )


def _is_about_to_be_confirmed(last: Sequence[Execution]) -> bool:
    """True if a saga or recovery has just succeeded, so that finalization may not have run yet."""
    since = datetime.now(UTC) - _FINALIZED_WITHIN
    return any(one.status == SUCCEEDED and one.ended is not None and one.ended > since for one in last)


def _created(state: SagaState) -> str | None:
    """Return when the saga's first step wrote: the row of a saga with pending statuses is older than its execution."""
    if state.saga.pending:
        first = state.saga.first.name
        later = [record for name, record in state.records.items() if record and name != first]
        begun = [str(record["created_at"]["S"]) for record in later if "created_at" in record]
        if begun:
            return min(begun)
    created = (state.row or {}).get("created_at")
    return str(created["S"]) if created else None
