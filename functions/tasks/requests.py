"""The input of the functions of tasks. Invalid input is rejected here, before anything is written."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import UNSET, Meta, Struct, UnsetType, structs

from entities.command import TenantCode
from idempotency import PayloadHash
from runtime.ended import Ended as ExecutionEnded
from runtime.ended import detail_parser
from runtime.json_documents import parse_json, read_document
from runtime.stores import message_work
from runtime.validation import InvalidEvent, parser
from runtime.values import Unstorable, json_size, storable

from .errors import InvalidTask, TooManyItems
from .state import TaskKey

if TYPE_CHECKING:
    from .types import TaskTypes

RUN_TASK = message_work("RunTask")
"""The work that a message asks for."""
MAX_ITEMS = 1000
MAX_ITEM = 4 * 1024
"""Maximum bytes of an item as JSON."""
MAX_ATTEMPTS = 100
IDS = ("tenant_code", "task_id", "attempt")
"""The fields that name a task in log lines."""

type TaskId = Annotated[str, Meta(pattern=r"^[A-Za-z0-9_-]{1,64}\Z")]
type Name = Annotated[str, Meta(min_length=1, max_length=80)]
type Number = Annotated[int, Meta(ge=1, le=MAX_ITEMS)]
type Attempt = Annotated[int, Meta(ge=1, le=MAX_ATTEMPTS)]


class CreateRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Request to create a task. task_id: UNSET for a new one in each call."""

    task_type: Name
    tenant_code: TenantCode
    items: Annotated[list[dict[str, Any]], Meta(min_length=1)]
    task_id: TaskId | UnsetType = UNSET

    @property
    def payload(self) -> PayloadHash:
        """Hash that tells a duplicate from another task of this id."""
        return PayloadHash.of({"task_type": self.task_type, "items": self.items})

    @property
    def stored(self) -> dict[str, Any]:
        """Attributes of the task's row that are as the caller gave them."""
        return {"tenant_code": self.tenant_code, "task_type": self.task_type}


class ActionRequest(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A task of one item, by the queue.

    task_id: required; without one, a message delivered twice would be two tasks.
    """

    task_type: Name
    tenant_code: TenantCode
    task_id: TaskId
    item: dict[str, Any]

    @property
    def creation(self) -> CreateRequest:
        return CreateRequest(
            task_type=self.task_type, tenant_code=self.tenant_code, task_id=self.task_id, items=[self.item]
        )


class _Named(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    tenant_code: TenantCode
    task_id: TaskId

    @property
    def key(self) -> TaskKey:
        return TaskKey(self.tenant_code, self.task_id)


class RetryRequest(_Named, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Request for a retry.

    attempt: the one whose failures the caller saw, so that a late duplicate does not retry the next.
    """

    attempt: Attempt | UnsetType = UNSET


class Input(_Named, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The input of an execution."""

    attempt: Attempt


class StateInput(Input, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The payload of a state: the execution's input and its name."""

    execution: Name

    @property
    def is_own(self) -> bool:
        """True if this execution may run the attempt at all."""
        return self.execution == self.key.execution(self.attempt)


class ItemInput(StateInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The payload of one iteration. number: the item's number."""

    number: Number


class Outcome(Struct, frozen=True):
    number: Number
    error: str = ""


class FinishInput(StateInput, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Payload of the last state. outcomes: results of the iterations: number, and error if the function failed."""

    outcomes: list[Outcome]

    @property
    def errors(self) -> dict[int, str]:
        """The error of each item whose function failed, by number."""
        return {outcome.number: outcome.error for outcome in self.outcomes if outcome.error}


class Ended(ExecutionEnded, frozen=True, rename="camel"):
    """The end of an execution. error: that of a failed one."""

    error: str | None = None

    @property
    def execution(self) -> str:
        return self.name

    @property
    def own(self) -> Input | None:
        """The attempt that it ran; None if it is not an execution of a task."""
        try:
            found = parse_input(parse_json(self.input or ""))
        except (InvalidEvent, ValueError):
            return None
        return found if self.name == found.key.execution(found.attempt) else None


_parse_create = parser(CreateRequest, InvalidTask, "the task")
_parse_action = parser(ActionRequest, InvalidTask, "the task")
parse_retry = parser(RetryRequest, InvalidTask, "the request")
parse_input = parser(Input, InvalidEvent, "the input")
parse_state = parser(StateInput, InvalidEvent, "the input")
parse_item = parser(ItemInput, InvalidEvent, "the input")
parse_finish = parser(FinishInput, InvalidEvent, "the input")
parse_ended = detail_parser(Ended)


def create_parser(types: "Callable[[], TaskTypes]") -> Callable[[Any], CreateRequest]:
    """Return a function that reads a CreateRequest from JSON, parsed or as text. It raises InvalidTask, TooManyItems.

    types: called for each request, because loading the types takes time, which other handlers do not need.
    """

    def parse_create(document: Any) -> CreateRequest:
        request = _parse_create(read_document(document, InvalidTask, "the task"))
        types().of(request.task_type)
        if len(request.items) > MAX_ITEMS:
            raise TooManyItems(f"items: {len(request.items)}; a task takes up to {MAX_ITEMS}")
        items = [_item(item, f"items[{index}]") for index, item in enumerate(request.items)]
        return structs.replace(request, items=items)

    return parse_create


def action_parser(types: "Callable[[], TaskTypes]") -> Callable[[Any], ActionRequest]:
    """Return a function that reads an ActionRequest from parsed JSON. It raises InvalidTask.

    types: as for `create_parser`.
    """

    def parse_action(document: Any) -> ActionRequest:
        request = _parse_action(document)
        types().of(request.task_type)
        return structs.replace(request, item=_item(request.item, "item"))

    return parse_action


def _item(item: dict[str, Any], path: str) -> dict[str, Any]:
    try:
        found: dict[str, Any] = storable(item, path)
    except Unstorable as problem:
        raise InvalidTask(str(problem)) from None
    if json_size(found) > MAX_ITEM:
        raise InvalidTask(f"{path}: more than {MAX_ITEM} bytes of JSON")
    return found
