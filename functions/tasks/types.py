"""The types of tasks: the content of an item, the work on it, and whether it may be repeated."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from types import GenericAlias
from typing import Any

import msgspec
from msgspec import Struct, defstruct

from entities.targets import Clients, TargetEnvironment
from idempotency import Lease, Resolution, Unknown, Work
from runtime.validation import parser

from .errors import InvalidTask


class HandlerEnvironment(TargetEnvironment):
    """The environment variables of every function that runs items."""

    gates_table: str
    data_table: str
    run_job_function: str


@dataclass(frozen=True, slots=True)
class Scope:
    """The limits of what an item may name: the task's tenant, and the bucket of jobs."""

    tenant_code: str
    jobs_bucket: str


@dataclass(frozen=True, slots=True)
class Run:
    """One call of a handler.

    key: names the item's work, the same each time until it is known how the work ended; of `[0-9a-f-]`.
    deadline: when the invocation times out, aware UTC. lease: for a type whose work runs under one.
    """

    key: str
    deadline: datetime
    lease: Lease | None = None


type Handler = Callable[[Any, Run], Any]
"""Does the work of an item, an instance of its schema. Returns a JSON value of up to 4 KiB.

It raises a BusinessError if the item fails for good, and a TransientError if the same call may succeed later.
"""
type Made[R] = Callable[[HandlerEnvironment, Clients], Callable[[Any, Run], R]]


def _nothing(_item: Any, _scope: Any) -> str:
    return ""


@dataclass(frozen=True, slots=True)
class TaskType:
    """A type of task. schema: a frozen msgspec.Struct of an item.

    handler: makes the Handler from the function's environment and clients.
    work: None if an item may be repeated at any time. Otherwise each item runs under a lease of this work, whose
        `unknown` decides what happens to an item whose owner crashed.
    resolve: makes the function that asks the outside system, for `Unknown.RESOLVE`.
    problem: what is wrong with an item, as "field: what to do"; empty if nothing is.
    foreign: the same for references of an item that do not belong to a tenant, by its tenant_code.
    """

    name: str
    schema: type[Struct]
    handler: Made[Any]
    work: Work | None = None
    resolve: Made[Resolution[Any]] | None = None
    problem: Callable[[Any, Scope], str] = _nothing
    foreign: Callable[[Any, str], str] = _nothing

    def item(self, value: Mapping[str, Any]) -> Struct:
        """Convert an item that was checked when the task was created."""
        return msgspec.convert(value, self.schema)

    def check(self, items: list[dict[str, Any]], scope: Scope) -> None:
        """Check items. Raises InvalidTask, with a line for each invalid item, naming item and field."""
        _refuse(self._problems(items, lambda item: self.problem(item, scope)))

    def check_owner(self, items: list[dict[str, Any]], tenant_code: str) -> None:
        """Check items of a call by the tenant itself; operators' calls skip this. Raises InvalidTask, as `check`."""
        _refuse(self._problems(items, lambda item: self.foreign(item, tenant_code)))

    def _problems(self, items: list[dict[str, Any]], problem_of: Callable[[Any], str]) -> Iterator[str]:
        for index, item in enumerate(items):
            try:
                (parsed,) = _parser(self.schema)({"items": [item]}).items
            except InvalidTask as error:
                yield str(error).replace("\n", " ").replace("items[0]", f"items[{index}]", 1)
                continue
            if problem := problem_of(parsed):
                yield f"items[{index}].{problem}"


class TaskTypes:
    """The registry. Raises DuplicateRegistration; TypeError for a resolver without `Unknown.RESOLVE`, or none."""

    def __init__(self, types: Iterable[TaskType]) -> None:
        self._types: dict[str, TaskType] = {}
        for kind in types:
            if kind.name in self._types:
                from entities.types import DuplicateRegistration

                raise DuplicateRegistration(f"the task type {kind.name} is registered twice")
            if (kind.work is not None and kind.work.unknown is Unknown.RESOLVE) != (kind.resolve is not None):
                raise TypeError(f"{kind.name}: Unknown.RESOLVE and a resolver belong together")
            self._types[kind.name] = kind

    @property
    def names(self) -> list[str]:
        return sorted(self._types)

    def of(self, name: str) -> TaskType:
        """Return the type of this name. Raises InvalidTask if there is none."""
        if name not in self._types:
            raise InvalidTask(f"task_type: must be one of {', '.join(self.names)}")
        return self._types[name]


def _refuse(problems: Iterable[str]) -> None:
    if text := "\n".join(problems):
        raise InvalidTask(text)


@cache
def _parser(schema: type[Struct]) -> Callable[[Any], Any]:
    of_items: Any = GenericAlias(list, (schema,))
    return parser(defstruct("Items", [("items", of_items)]), InvalidTask, "the task")
