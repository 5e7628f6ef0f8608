"""The input of the functions of commands, except PublishCommand's, which `entities.command` reads."""

from typing import Annotated

from msgspec import UNSET, Meta, Struct, UnsetType

from entities.command import Attempt, Key, Pk, Sk, Version
from entities.errors import InvalidCommand, StaleCommand
from runtime.ended import Ended as ExecutionEnded
from runtime.ended import detail_parser
from runtime.json_documents import parse_json
from runtime.validation import parser

IDS = ("pk", "sk", "version", "attempt")
"""The fields that name an attempt in log lines."""

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
    def named(self) -> Attempt:
        """The attempt that the input names."""
        return Attempt(Key(self.pk, self.sk), self.version, self.attempt)


class StateInput(Input, frozen=True, forbid_unknown_fields=True):
    """The payload of a state: the execution's input and its name."""

    execution: Name

    @property
    def is_own(self) -> bool:
        """True if this execution may run the attempt at all."""
        return self.execution == self.named.name


class WaitInput(StateInput, frozen=True, forbid_unknown_fields=True):
    """Payload of the waiting state. token: the callback token.

    redrive_count: how many times the execution was redriven.
    """

    token: Token
    redrive_count: int = 0


class TargetInput(StateInput, frozen=True, forbid_unknown_fields=True):
    """Payload of a state that writes a target. target: the name of a target of the command's type."""

    target: Name


class RetryRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Request for a retry. by: the operator who decides."""

    pk: Pk
    sk: Sk
    reason: Reason
    by: Person

    @property
    def key(self) -> Key:
        return Key(self.pk, self.sk)


class SkipRequest(RetryRequest, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Request for a skip.

    version: the dead one that the operator saw, so that a repeated call does not skip the next one.
    """

    version: Version | UnsetType = UNSET


class Ended(ExecutionEnded, frozen=True, rename="camel"):
    """The end of an execution. error, cause: those of a failed one."""

    error: str | None = None
    cause: str | None = None

    @property
    def execution(self) -> str:
        return self.name

    @property
    def attempt(self) -> Attempt | None:
        """The attempt that it ran; None if it is not an execution of a command."""
        try:
            attempt = _parse_input(parse_json(self.input or "")).named
        except (InvalidCommand, ValueError):
            return None
        return attempt if attempt.name == self.name else None


_parse_input = parser(Input, InvalidCommand, "the input")
parse_state = parser(StateInput, InvalidCommand, "the task")
parse_wait = parser(WaitInput, InvalidCommand, "the task")
parse_target = parser(TargetInput, InvalidCommand, "the task")
parse_retry = parser(RetryRequest, InvalidCommand, "the request", lines=["by"], free_text=["reason"])
parse_skip = parser(SkipRequest, InvalidCommand, "the request", lines=["by"], free_text=["reason"])
parse_ended = detail_parser(Ended)


def require_own(state: StateInput) -> Attempt:
    """Return the attempt of a state. Raises StaleCommand if another execution runs it."""
    if not state.is_own:
        raise StaleCommand(f"{state.named}: execution: not the command's own")
    return state.named
