"""Calls of the contexts' functions: their errors become responses by name."""

import json
import re
from collections.abc import Mapping
from typing import Any

from botocore.exceptions import BotoCoreError, ClientError

from runtime.clients import single_try_client
from runtime.json_documents import event_text

from .answer import Defect, NotYet, Problem, Unavailable

_STATUS = {
    **dict.fromkeys(("InvalidCommand", "InvalidImport", "InvalidTask", "InvalidWebhook", "InvalidKey"), 422),
    **dict.fromkeys(("InvalidApplication", "InvalidDecision", "TooManyItems", "TooManyRows"), 422),
    **dict.fromkeys(("PayloadMismatch", "PendingCommand", "StateConflict", "VersionConflict", "VersionGap"), 409),
    **dict.fromkeys(("AlreadyDecided", "ApprovalCancelled", "ApprovalExpired", "OwnRequest"), 409),
    "ApprovalNotFound": 404,
    "AttributesTooLarge": 413,
}
# Two end once the older version does, one once an operator has repaired the key. A PendingCommand may follow a write
# whose response was lost, which only a repeat under the same key finds; after a VersionGap, nothing was written.
_FOR_NOW = {"PendingCommand": Problem, "StateConflict": Problem, "VersionGap": NotYet}
# Errors whose messages start with an id instead of a field.
_ABOUT_AN_ID = frozenset({"AlreadyDecided", "ApprovalCancelled", "ApprovalExpired", "ApprovalNotFound", "OwnRequest"})
_TRANSIENT = frozenset(
    {
        "AlreadyInProgress",
        "BucketUnavailable",
        "Contention",
        "EndpointsUnavailable",
        "LeaseLost",
        "Sandbox.Timedout",
        "StoreUnavailable",
    }
)
_THROTTLED = frozenset({"TooManyRequestsException", "EC2ThrottledException"})
_FIELD = re.compile(r"^(?P<path>[A-Za-z_][\w.\[\]-]*): (?P<detail>.*)$")


def invoke(function: str, payload: Mapping[str, Any]) -> Any:
    """Return a function's result. Raises Problem for the errors of its contract, Unavailable, Defect."""
    try:
        answer = single_try_client("lambda").invoke(FunctionName=function, Payload=event_text(payload))
        body = json.loads(answer["Payload"].read())
    except (ClientError, BotoCoreError) as error:
        raise lost(error, "Lambda") from None
    if "FunctionError" not in answer:
        return body
    raise _refused(body.get("errorType", ""), body.get("errorMessage", ""))


def lost(error: Exception, service: str) -> Exception:
    """Return what to raise for an error of a service's client: Unavailable, or the error itself if it is a defect."""
    if isinstance(error, ClientError):
        code = error.response["Error"]["Code"]
        if code not in _THROTTLED and error.response["ResponseMetadata"]["HTTPStatusCode"] < 500:
            return error
    return Unavailable(f"{service}: {type(error).__name__}")


def _refused(name: str, message: str) -> Exception:
    if name in _STATUS:
        errors = [] if name in _ABOUT_AN_ID else located(message)
        return _FOR_NOW.get(name, Problem)(_STATUS[name], name, message, errors, for_now=name in _FOR_NOW)
    return Unavailable(f"a function ended in {name}") if name in _TRANSIENT or "timed out" in message else Defect(name)


def located(message: str) -> list[Mapping[str, str]]:
    """Return the fields at the start of a message's lines, as errors of a problem; empty if there are none."""
    matches = filter(None, map(_FIELD.match, message.split("\n")))
    return [{"pointer": f"#/{_pointer(match['path'])}", "detail": match["detail"]} for match in matches]


def _pointer(path: str) -> str:
    return re.sub(r"\[(\d+)\]", r"/\1", path).replace(".", "/")
