"""One invocation of a handler, as Lambda makes it, and what AWS answers when it refuses."""

import json
import threading
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
    """The process is gone: no handler's `except Exception` sees it."""


@dataclass
class Invocation:
    """One run of a handler.

    calls: how many it has made. operation: the last of them. bare: gets no fault (a duplicate). dead: the process
    is gone. error: what it raised. wrote: bodies of writes that took effect. charged, moved: whether a request of it
    changed what the gateway knows of a key, and whether it moved money.
    """

    id: str
    function: str
    event: str
    bare: bool = False
    dead: bool = False
    calls: int = 0
    operation: str = ""
    error: Exception | None = None
    wrote: list[bytes] = field(default_factory=list)
    charged: bool = False
    moved: bool = False
    # Call before which it stops, and what then lets it go on.
    holds_at: int = 0
    held: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    @property
    def order_id(self) -> str:
        """The order that a function of the saga is called with."""
        return str(json.loads(self.event)["order_id"])

    @property
    def timeout(self) -> int:
        """Seconds after which Lambda ends it."""
        return FUNCTIONS[self.function].timeout


def handled(handler: Handler, invocation: Invocation) -> Document:
    """Run the handler as Lambda would: JSON in, and JSON or the error's class name out."""
    try:
        return {
            "body": json.loads(
                json.dumps(handler(json.loads(invocation.event), _Context(invocation.id, invocation.timeout)))
            )
        }
    except Died:
        return failure("Runtime.ExitError")
    except Exception as error:
        invocation.error = error
        return failure(type(error).__name__, str(error))


def outcome(answer: Document) -> str:
    """A word for the trace: answered, or the error's name."""
    return str(answer["body"]["errorType"]) if answer.get("error") else "answered"


@dataclass(frozen=True, slots=True)
class _Context:
    aws_request_id: str
    timeout: int

    def get_remaining_time_in_millis(self) -> int:
        return self.timeout * 1000


def failure(kind: str, message: str = "") -> Document:
    """What Lambda answers when the function failed. kind: the error's name."""
    return {"error": True, "body": {"errorType": kind, "errorMessage": message}}


def as_delivered(event: Document) -> Document:
    """The event as EventBridge has it."""
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
