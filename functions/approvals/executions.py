"""What Step Functions says of tokens and executions."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from runtime.machine import Execution, Machine, answered, find_execution

_CALLBACK = ".waitForTaskToken"
_ENDS = frozenset({"ExecutionSucceeded", "ExecutionFailed", "ExecutionAborted", "ExecutionTimedOut"})
_PAGE = 1000


@dataclass(frozen=True, slots=True)
class Trace:
    """What a history says of an approval. ended: whether the execution has. taken: whether it got the decision.

    timed_out: whether a waiting state reached its last resort, TimeoutSeconds.
    """

    ended: bool
    taken: bool
    timed_out: bool

    @property
    def took_effect(self) -> bool | None:
        """None as long as it may still."""
        return True if self.taken else False if self.ended else None


class Client(Protocol):
    """The part of `boto3.client("stepfunctions")` that is called."""

    @property
    def send_task_success(self) -> Callable[..., Any]: ...

    @property
    def describe_execution(self) -> Callable[..., Any]: ...

    @property
    def get_execution_history(self) -> Callable[..., Any]: ...


@dataclass(frozen=True, slots=True)
class Executions:
    """client: makes the client. All methods raise ExecutionsUnavailable."""

    client: Callable[[], Client]

    def answer(self, token: str, output: str) -> bool:
        """Whether Step Functions took the answer. False: nothing waits with this token, or not any more."""
        return Machine(self.client).answer(token, output)

    def find(self, arn: str) -> Execution | None:
        """An execution; None if there is none, or none any more."""
        return find_execution(self.client(), arn)

    def trace(self, arn: str, answer: str) -> Trace:
        """Read the history of an execution, the newest event first. answer: that a state may have got; may be empty.

        A lost answer to SendTaskSuccess looks like a closed task to the next call, so only the history tells.
        """
        ended, timed_out = True, False
        for number, event in enumerate(self._events(arn)):
            ended = event["type"] in _ENDS if number == 0 else ended
            timed_out = timed_out or _is_timeout(event)
            if answer and _is_answer(event, answer):
                return Trace(ended, taken=True, timed_out=timed_out)
        return Trace(ended, taken=False, timed_out=timed_out)

    def _events(self, arn: str) -> Iterator[Mapping[str, Any]]:
        read = partial(self.client().get_execution_history, executionArn=arn, reverseOrder=True, maxResults=_PAGE)
        page = answered(read, "ExecutionDoesNotExist")
        while page:
            yield from page["events"]
            more = page.get("nextToken")
            page = answered(partial(read, nextToken=more), "ExecutionDoesNotExist") if more else None


def _is_timeout(event: Mapping[str, Any]) -> bool:
    details = event.get("taskTimedOutEventDetails", {})
    return str(details.get("resource", "")).endswith(_CALLBACK)


def _is_answer(event: Mapping[str, Any], answer: str) -> bool:
    details = event.get("taskSucceededEventDetails", {})
    if not str(details.get("resource", "")).endswith(_CALLBACK):
        return False
    return bool(json.loads(details.get("output") or "null") == json.loads(answer))
