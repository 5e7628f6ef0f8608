"""One invocation of a handler, as by Lambda, and AWS's error responses."""

import json
import threading
from collections.abc import Callable
from dataclasses import dataclass, field

from tests.faults.seams import Document
from tests.kit.deployed_stack import Handler
from tests.kit.template import FUNCTIONS

_VERSION = "com.amazonaws.dynamodb.v20120810"
THROTTLED = json.dumps({"__type": f"{_VERSION}#ThrottlingException", "message": "slow down"})
DENIED = json.dumps({"__type": f"{_VERSION}#AccessDeniedException", "Message": "not authorized"})
CONFLICT = json.dumps(
    {
        "__type": f"{_VERSION}#TransactionCanceledException",
        "Message": "Transaction cancelled, please refer cancellation reasons for specific reasons",
        "CancellationReasons": [{"Code": "TransactionConflict"}, {"Code": "None"}],
    }
)


class Died(BaseException):
    """The process crashed. A BaseException, so that no handler catches it."""


@dataclass
class Invocation:
    """One run of a handler.

    calls: number of calls. operation: the last call's operation. bare: gets no fault (a duplicate).
    dead: the process crashed.
    error: the handler's error. asked: executions that it has described since it last waited, and whether they ran.
    wrote: bodies of writes that took effect. charged, moved: whether its requests changed the gateway's state of a key,
    and moved money.
    """

    id: str
    function: str
    event: str
    bare: bool = False
    dead: bool = False
    calls: int = 0
    operation: str = ""
    error: Exception | None = None
    asked: dict[str, bool] = field(default_factory=dict)
    wrote: list[bytes] = field(default_factory=list)
    charged: bool = False
    moved: bool = False
    # Seconds until it times out; None if no time passes.
    remaining: Callable[[], float] | None = None
    # The call before which it stops, and the event that continues it.
    holds_at: int = 0
    held: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    @property
    def order_id(self) -> str:
        """The order in the event of a saga function."""
        return str(json.loads(self.event)["order_id"])

    @property
    def timeout(self) -> int:
        """Timeout of the function in seconds."""
        return FUNCTIONS[self.function].timeout


def handled(handler: Handler, invocation: Invocation) -> Document:
    """Run the handler as Lambda does: JSON in, and JSON or the error's class name out."""
    try:
        return {"body": json.loads(json.dumps(handler(json.loads(invocation.event), _Context(invocation))))}
    except Died:
        return failure("Runtime.ExitError")
    except Exception as error:
        invocation.error = error
        return failure(type(error).__name__, str(error))


def outcome(answer: Document) -> str:
    """Return a word for the trace: answered, or the error's name."""
    return str(answer["body"]["errorType"]) if answer.get("error") else "answered"


@dataclass(frozen=True, slots=True)
class _Context:
    invocation: Invocation

    @property
    def aws_request_id(self) -> str:
        return self.invocation.id

    def get_remaining_time_in_millis(self) -> int:
        seconds = self.invocation.remaining() if self.invocation.remaining else self.invocation.timeout
        return int(seconds * 1000)


def failure(kind: str, message: str = "") -> Document:
    """Build Lambda's response for a failed function. kind: the error's name."""
    return {"error": True, "body": {"errorType": kind, "errorMessage": message}}


def as_delivered(event: Document) -> Document:
    """Convert the event to EventBridge's format."""
    return {
        "version": "0",
        "id": "event-1",
        "detail-type": event["DetailType"],
        "source": event["Source"],
        "account": event["Account"],
        "time": "2026-11-21T00:00:00Z",
        "region": event["Region"],
        "resources": event["Resources"],
        "detail": json.loads(event["Detail"]),
    }
