"""The shape of every handler of an SQS queue: each message separately, and only failures are redelivered.

    @queue_handler(parse_action, ids=("import_id",))
    @once(leases, message_work("StartImport"), key=lambda action: action.import_id)
    def import_action(action: Action, call: Call) -> str: ...

A message is handled in the shape of `runtime.handler`: entry and outcome are logged, and foreign errors are replaced. A
message that always fails goes to the dead-letter queue, by the redrive policy of its queue.

SQS redelivers a message under its id; SNS, and a publisher that repeats a lost call, send it under another one. So
`once` names the work after the content of the message. Only success is recorded: failed work runs again, also after a
redrive. Different content about the same thing is different work, which the rows refuse.
"""

import logging
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal
from functools import wraps
from typing import Any

import msgspec

from idempotency import LeaseStore, Work, idempotent_handler, payload_hash

from .context import LambdaContext
from .handler import Call, handler
from .json_documents import NotJson, parse_json
from .validation import InvalidEvent, parser

type Message = Mapping[str, Any]
type BatchHandler = Callable[[Any, LambdaContext], dict[str, Any]]

_DIGITS = 16

_logger = logging.getLogger(__name__)


class InvalidMessage(Exception):
    """The message does not belong in its queue. The error's message starts with the path of the field."""


def message_parser[T](kind: type[T]) -> Callable[[Any], T]:
    """Return a parser of a message's document into `kind`, a msgspec.Struct. It raises InvalidMessage."""
    return parser(kind, InvalidMessage, "the message")


def queue_handler[T](
    parse: Callable[[Any], T], *, ids: Sequence[str] = ()
) -> Callable[[Callable[[T, Call], object]], BatchHandler]:
    """Make a Lambda handler from a function of the parsed message and its Call. `call.event` is the SQS record.

    parse, ids: as for `handler`; parse gets the body, which is JSON.
    The handler returns {"batchItemFailures": [{"itemIdentifier": message id}]}. It raises InvalidEvent.
    """

    def decorate(run: Callable[[T, Call], object]) -> BatchHandler:
        one = handler(lambda message: parse(_document(message)), ids=ids)(run)

        @wraps(run)
        def handle(event: Any, context: LambdaContext) -> dict[str, Any]:
            failed = [message for message in _messages(event) if not _handled(one, message, context)]
            return {"batchItemFailures": [{"itemIdentifier": message["messageId"]} for message in failed]}

        return handle

    return decorate


def once(
    leases: Callable[[], LeaseStore], work: Work, *, key: Callable[[Any], str]
) -> Callable[[Callable[..., Any]], Callable[[Any, Any], Any]]:
    """Let a handler do its work once for each content of a message.

    work: made by `message_work`. key: names the subject of a parsed message.
    """

    def name(message: Any) -> str:
        return f"{key(message)}/{payload_hash(_plain(message))[:_DIGITS]}"

    return idempotent_handler(leases, work, key=name, payload=_plain)


def _plain(message: Any) -> Any:
    # By default, a Decimal would become a string.
    return msgspec.to_builtins(message, builtin_types=(Decimal,))


def _messages(event: Any) -> Sequence[Message]:
    messages = event.get("Records") if isinstance(event, Mapping) else None
    if not isinstance(messages, list) or not all(isinstance(one, Mapping) and "messageId" in one for one in messages):
        raise InvalidEvent("Records: not a batch of a queue")
    return messages


def _document(message: Message) -> Any:
    try:
        return parse_json(message["body"])
    except NotJson as error:
        flaw = error.flaws[0]
        raise InvalidMessage(str(flaw) if flaw.path else f"body: {flaw}") from None
    except (KeyError, TypeError, AttributeError):
        raise InvalidMessage("body: not JSON") from None


def _handled(run: Callable[[Any, LambdaContext], object], message: Message, context: LambdaContext) -> bool:
    try:
        run(message, context)
    except Exception as error:
        received = message.get("attributes", {}).get("ApproximateReceiveCount", "")
        fields = {"message_id": message["messageId"], "received": received, "error": type(error).__name__}
        _logger.warning("message not handled", extra=fields)
        return False
    return True
