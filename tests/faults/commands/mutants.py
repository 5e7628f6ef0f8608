"""Deliberately broken variants of commands: the explorer must see each one fail.

Each is a small patch of the loaded code. `focus` says where its faults are drawn: a few schedules must do.
"""

from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from typing import Any

from msgspec.structs import replace as with_fields

from commands import handlers
from commands.recovery import Turns
from commands.running import Running
from entities import publish
from entities.catalog import CatalogBucket
from entities.gate import Gates
from entities.products import ProductsTable
from entities.publish import Publication
from entities.state import CommandRow, Gate, State
from entities.tables import Rows, States
from entities.types import Types
from idempotency import transact
from idempotency.dynamodb import read_rows, update
from tests.faults import faults as f
from tests.faults.actors.mutant import THROTTLED, with_tries
from tests.faults.commands import invariants as breaks
from tests.faults.commands import schedule as s
from tests.faults.commands.mutant import DEAD_FIRST, mutant
from tests.faults.mutant import replaced

_READ = Publication._read
_LATE_TARGET = ((r"^sync_data:.*#1$", (f.LATE, f.AGAIN)), (r"^sync_data:.*#1\.call", (s.shared.HELD,)))


def _unconditional(action: Any) -> Any:
    return {"Put": {name: action["Put"][name] for name in ("TableName", "Item")}}


@mutant("a token that is stored after the check", breaks.WAITS, focus=((r"^wait_prev.*\.call2$", (s.shared.SLOW,)),))
def _token_after_check() -> AbstractContextManager[None]:
    """The predecessor finishes in between, and wakes no successor."""

    def park(self: Any, attempt: Any, token: str, at: Any) -> bool:
        state = self.states.state(attempt)
        if state.is_turn:
            return False
        update(self.client, self.rows.parked(attempt, token, at.isoformat())["Update"])
        return True

    return replaced(Gates, "park", park)


@mutant(
    "one slot for tokens", breaks.ENDS, breaks.WAITS, focus=(DEAD_FIRST, (r"^wait_prev_command@\d\.1#1$", (f.LATE,)))
)
def _one_token() -> AbstractContextManager[None]:
    """A late token replaces the newer one."""
    parked = Rows.parked

    def only(self: Any, attempt: Any, token: str, at: str) -> Any:
        action: Any = parked(self, attempt, token, at)
        parameters = action["Update"]
        parameters["UpdateExpression"] = (
            parameters["UpdateExpression"].replace(" ADD #tokens :token", "").replace("SET ", "SET #tokens = :token, ")
        )
        return action

    return replaced(Rows, "parked", only)


@mutant(
    "an end without the fence of its attempt",
    breaks.DEAD,
    focus=(
        (r"^(check_version|wait_prev_command|transform_data)@\d\.1$", (f.ABORTED_AFTER,)),
        (r"^event@\d\.1$", (s.shared.EVENT_THRICE,)),
    ),
)
def _no_fence() -> AbstractContextManager[None]:
    """A late event of an earlier attempt kills the running one."""
    ended = Gates.ended

    def whichever(self: Any, attempt: Any, error: Any, at: Any) -> bool:
        state = self.states.state(attempt)
        return ended(self, replace(attempt, number=state.command.attempt), error, at) if state else False

    return replaced(Gates, "ended", whichever)


@mutant(
    "a redrive that waits until after its end",
    breaks.ENDS,
    focus=(
        (r"^(check_version|wait_prev_command)@[23]\.1$", (f.ABORTED_BEFORE, f.ABORTED_AFTER)),
        (r"^end@[23]\.1#1$", (s.shared.REDRIVEN,)),
        (r"^event@[23]\.1$", (s.shared.EVENT_LATE,)),
    ),
)
def _parks() -> AbstractContextManager[None]:
    """The event of its first end makes the version dead, and nothing wakes it."""
    wait = Running.wait
    return replaced(Running, "wait", lambda self, task, *given: wait(self, with_fields(task, redrive_count=0), *given))


@mutant(
    "a wake-up by the predecessor alone",
    breaks.WAITS,
    breaks.ENDS,
    focus=(DEAD_FIRST, (r"^finish@\d\.1#1\.call[3-5]$", (f.DIES_AFTER,))),
)
def _wake_by_predecessor() -> AbstractContextManager[Any]:
    """A version that dies between the two writes, or is skipped, wakes no successor."""
    finish = Running.finish
    wake = Turns.wake

    def finish_and_wake(self: Any, task: Any, targets: Any, at: Any) -> None:
        finish(self, task, targets, at)
        gate = self.gates.states.gate(task.named.key)
        if gate.turn == task.version + 1:
            wake(handlers.turns(), gate, handlers.tokens())

    stack = ExitStack()
    stack.enter_context(replaced(Running, "finish", finish_and_wake))
    stack.enter_context(replaced(Turns, "wake", lambda *_: None))
    return stack


@mutant("a gate that an abort does not close", breaks.ENDS, focus=(DEAD_FIRST,))
def _abort_ignored() -> AbstractContextManager[None]:
    """Only a failure makes a version dead, not an abort."""
    ended = Gates.ended

    def failed(self: Any, attempt: Any, error: Any, at: Any) -> bool:
        return error["type"] != "Execution.ABORTED" and ended(self, attempt, error, at)

    return replaced(Gates, "ended", failed)


@mutant("data that is written before finish", breaks.DATA)
def _data_first() -> AbstractContextManager[None]:
    """Readers already see the data of a version that fails afterwards."""
    transform = Running.transform

    def transform_and_write(self: Any, task: Any, at: Any) -> Any:
        targets = transform(self, task, at)
        state = self.gates.states.at_turn(task.named, data=True)
        data = handlers.gates("data", "history").rows.data(state.change, at.isoformat())
        transact(self.gates.client, [_unconditional(data)])
        return targets

    return replaced(Running, "transform", transform_and_write)


@mutant("an object that is written unconditionally", breaks.BACK, focus=_LATE_TARGET)
def _unconditional_object() -> AbstractContextManager[None]:
    """A late writer brings back an old version."""
    put = CatalogBucket._put

    class Unconditional:
        def __init__(self, client: Any) -> None:
            self.client = client

        def put_object(self, **given: Any) -> Any:
            return self.client.put_object(**{name: one for name, one in given.items() if not name.startswith("If")})

    def without(self: Any, key: str, document: Any, old: Any) -> bool:
        return put(replace(self, client=Unconditional(self.client)), key, document, old)

    return replaced(CatalogBucket, "_put", without)


@mutant("a row of a target that is written unconditionally", breaks.BACK, focus=_LATE_TARGET)
def _unconditional_row() -> AbstractContextManager[None]:
    """The same in a table: a late writer brings back an old version."""

    def write(self: Any, document: Any, turn: Any = None, /, *, skipped: int = 0) -> None:
        pointer = self._pointer(document.pk, document.sk)
        transact(self.client, [_unconditional(self._moved(document, pointer)), *self._rows(document, pointer)])

    return replaced(ProductsTable, "write", write)


@mutant("a row that comes back in an old category", breaks.ONE_ROW, focus=_LATE_TARGET)
def _old_category() -> AbstractContextManager[None]:
    """The pointer never goes back, and the row has its own condition: there is no row in the old category."""

    def write(self: Any, document: Any, turn: Any = None, /, *, skipped: int = 0) -> None:
        pointer = self._pointer(document.pk, document.sk)
        behind = not pointer or int(pointer["version"]["N"]) < document.version
        newer = {"ConditionExpression": "attribute_not_exists(version) OR version < :new"}
        values = {"ExpressionAttributeValues": {":new": {"N": str(document.version)}}}
        rows = self._rows(document, pointer if behind else None)
        actions = [{"Put": {**one["Put"], **newer, **values}} if "Put" in one else one for one in rows]
        if behind:
            actions.append(_unconditional(self._moved(document, pointer)))
        if actions:
            transact(self.client, actions)

    return replaced(ProductsTable, "write", write)


@mutant("a history that is written after the change", breaks.HISTORY)
def _history_afterwards() -> AbstractContextManager[Any]:
    """A crash in between loses a version."""
    finish = Gates.finish

    def and_then(self: Any, state: Any, at: Any) -> None:
        history = Rows.history
        with replaced(Rows, "history", lambda *_: []):
            finish(self, state, at)
        for action in history(self.rows, state.change):
            transact(self.client, [action])

    return replaced(Gates, "finish", and_then)


@mutant("a synchronous publication that does not check the gate", breaks.GATE, breaks.DATA)
def _sync_unchecked() -> AbstractContextManager[Any]:
    """The publication overtakes the waiting versions."""
    published = Rows.published_finished
    writes = Publication._writes

    def whatever(self: Any, *arguments: Any) -> Any:
        action: Any = published(self, *arguments)
        parameters = action["Update"]
        parameters["ConditionExpression"] = parameters["ConditionExpression"].replace(" AND #finished = :previous", "")
        return action

    def at_once(self: Any, command: Any, version: int, gate: Any, *more: Any) -> Any:
        return writes(self, command, version, replace(gate, finished=gate.published) if gate else None, *more)

    stack = ExitStack()
    stack.enter_context(replaced(Rows, "published_finished", whatever))
    stack.enter_context(replaced(Publication, "_writes", at_once))
    return stack


@mutant(
    "a batch that is taken for a snapshot",
    breaks.FINAL,
    breaks.DEAD,
    focus=((r"^(set_ttl_command|history_copy|transform_data)@\d\.1#1\.call1$", (f.DUPLICATE_AT,)),),
)
def _snapshot() -> AbstractContextManager[Any]:
    """A late duplicate reads the gate; the version finishes; the duplicate reads the command, and notes its state."""

    def state(self: Any, attempt: Any, *, data: bool = False) -> State | None:
        wanted = [self.gate_row(attempt.key), self.command_row(attempt.key, attempt.version)]
        gate, row, *more = read_rows(self.client, [*wanted, *([(self.tables.data, attempt.key.row)] if data else [])])
        return State(attempt, Gate.of(gate), CommandRow(row), more[0] if more else None) if gate and row else None

    def noted(self: Any, state: Any, status: str, also: Any, at: str) -> Any:
        seen = {"attempt": state.attempt.number, "seen": state.command.status}
        assign = {"status": status, "updated_at": at, **also}
        return self._command(state.attempt, "#attempt = :attempt AND #status = :seen", assign=assign, values=seen)[
            "Update"
        ]

    stack = ExitStack()
    stack.enter_context(replaced(States, "state", state))
    stack.enter_context(replaced(Rows, "noted", noted))
    return stack


@mutant(
    "a version that one batch does not show",
    breaks.ANSWERS,
    focus=((r"^PublishCommand@\w+#\d$", (f.AGAIN,)), (r"^PublishCommand@\w+#\d\.call1$", (s.shared.TORN,))),
)
def _expired_at_first_sight() -> AbstractContextManager[None]:
    """A duplicate publishes between the two reads: the caller gets an error that the version has expired."""

    def read(self: Any, command: Any, version: int | None) -> Any:
        found = _READ(self, command, version)
        if version and not found[2] and found[0] and found[0].published >= version:
            raise publish._expired(command, version)
        return found

    return replaced(Publication, "_read", read)


@mutant(
    "a first version of any type",
    breaks.TYPE,
    breaks.ANSWERS,
    focus=((r"^PublishCommand@(1|next)#1\.call", (s.STRAY_AT,)),),
)
def _any_type() -> AbstractContextManager[None]:
    """A caller who writes `Product` sets the type for good."""
    return replaced(Types, "owner", lambda *_: "")


@mutant("a throttled state that gives up within five minutes", breaks.THROTTLED, focus=THROTTLED)
def _impatient() -> AbstractContextManager[None]:
    """Restore a past defect: a state had ten tries."""
    return with_tries(10)
