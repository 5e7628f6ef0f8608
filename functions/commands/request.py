"""What calls the functions: the state machine, operators, the end of an execution."""

from typing import Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType

from entities.command import Attempt, Key, Pk, Sk, Version
from entities.errors import InvalidCommand, StaleCommand
from runtime.ended import Ended as ExecutionEnded
from runtime.ended import detail_parser
from runtime.json_documents import parse_json
from runtime.validation import parser

IDS = ("pk", "sk", "version", "attempt")
"""What log lines name a task by."""

type Number = Annotated[int, Meta(ge=1, le=10**9)]
type Name = Annotated[str, Meta(min_length=1, max_length=80)]
type Token = Annotated[str, Meta(min_length=1, max_length=2048)]
type Person = Annotated[str, Meta(max_length=256)]
type Reason = Annotated[str, Meta(max_length=500)]


class Input(Struct, frozen=True, forbid_unknown_fields=True):
    """The input of an execution."""

    pk: Pk
    sk: Sk
    version: Version
    attempt: Number

    @property
    def own(self) -> Attempt:
        return Attempt(Key(self.pk, self.sk), self.version, self.attempt)


class Task(Input, frozen=True, forbid_unknown_fields=True):
    """The payload of a state: the execution's input and its name."""

    execution: Name

    @property
    def is_own(self) -> bool:
        """Whether the execution may run this attempt at all."""
        return self.execution == self.own.name


class WaitingTask(Task, frozen=True, forbid_unknown_fields=True):
    """token: of the callback."""

    token: Token


class TargetTask(Task, frozen=True, forbid_unknown_fields=True):
    """target: the name of a target of the command's type."""

    target: Name


class Order(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What an operator wants of a key. by: who it is."""

    pk: Pk
    sk: Sk
    reason: Reason
    by: Person

    @property
    def key(self) -> Key:
        return Key(self.pk, self.sk)


class Skip(Order, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """version: the dead one that the operator saw, so that a repeated call does not skip the next one."""

    version: Version | UnsetType = UNSET


class Ended(ExecutionEnded, frozen=True, rename="camel"):
    """error, cause: of an execution that failed."""

    error: str | None = None
    cause: str | None = None

    @property
    def execution(self) -> str:
        return self.name

    @property
    def attempt(self) -> Attempt | None:
        """The attempt that it ran; None if it is no execution of a command."""
        try:
            own = parse_input(parse_json(self.input or "")).own
        except (InvalidCommand, ValueError):
            return None
        return own if own.name == self.name else None


parse_input = parser(Input, InvalidCommand, "the input")
parse_task = parser(Task, InvalidCommand, "the task")
parse_waiting_task = parser(WaitingTask, InvalidCommand, "the task")
parse_target_task = parser(TargetTask, InvalidCommand, "the task")
parse_order = parser(Order, InvalidCommand, "the request", lines=["by"], free_text=["reason"])
parse_skip = parser(Skip, InvalidCommand, "the request", lines=["by"], free_text=["reason"])
parse_ended = detail_parser(Ended)


def require_own[T: Task](task: T) -> Attempt:
    """The attempt of a task. Raises StaleCommand if another execution runs it."""
    if not task.is_own:
        raise StaleCommand(f"{task.own}: execution: not the command's own")
    return task.own


def input_of(attempt: Attempt) -> dict[str, Any]:
    """The input of the attempt's execution."""
    return {**attempt.key.row, "version": attempt.version, "attempt": attempt.number}
