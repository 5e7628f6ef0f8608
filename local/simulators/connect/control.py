"""The control path, outside Amazon Connect's own: settings, faults, requests, reset."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from . import settings
from .faults import ANY, Fault
from .operations import OPERATIONS
from .simulator import Reply, StandIn

PATH = "/_stand-in/"

type Document = dict[str, Any]
type Query = Mapping[str, str]


class ControlError(Exception):
    """What was asked of the control path makes no sense."""


def reply(stand_in: StandIn, method: str, target: str, body: bytes) -> Reply:
    """Answer a request to the control path."""
    url = urlsplit(target)
    operation = _ROUTES.get((method, url.path.removeprefix(PATH)))
    if operation is None:
        return _answer(404, {"error": "there is nothing here"})
    query = {name: values[-1] for name, values in parse_qs(url.query).items()}
    try:
        return _answer(200, operation(stand_in, query, _json_object(body)))
    except (msgspec.MsgspecError, ControlError) as error:
        return _answer(400, {"error": str(error)})


def _health(_stand_in: StandIn, _query: Query, _document: Document) -> Any:
    return {"operations": sorted(OPERATIONS)}


def _get_settings(stand_in: StandIn, _query: Query, _document: Document) -> Any:
    return stand_in.state.account.settings


def _change_settings(stand_in: StandIn, _query: Query, document: Document) -> Any:
    account = stand_in.state.account
    with account.lock:
        account.settings = settings.changed(account.settings, document)
        return account.settings


def _get_faults(stand_in: StandIn, _query: Query, _document: Document) -> Any:
    return stand_in.state.faults.left()


def _order_fault(stand_in: StandIn, _query: Query, document: Document) -> Any:
    fault = msgspec.convert(document, Fault)
    if fault.operation not in OPERATIONS.keys() | {ANY}:
        raise ControlError(f"the stand-in has no operation {fault.operation}")
    if fault.code and not (fault.status or stand_in.protocol.status(fault.code)):
        raise ControlError(f"Amazon Connect has no error {fault.code}; give its status")
    stand_in.state.faults.order(fault)
    return stand_in.state.faults.left()


def _clear_faults(stand_in: StandIn, _query: Query, _document: Document) -> Any:
    stand_in.state.faults.clear()
    return []


def _requests(stand_in: StandIn, query: Query, _document: Document) -> Any:
    return stand_in.state.journal.entries(query.get("operation"))


def _clear_requests(stand_in: StandIn, _query: Query, _document: Document) -> Any:
    stand_in.state.journal.clear()
    return []


def _instances(stand_in: StandIn, _query: Query, _document: Document) -> Any:
    account = stand_in.state.account
    with account.lock:
        return [
            {
                "id": instance.id,
                "alias": instance.attributes.get("InstanceAlias"),
                "status": instance.status(account.now()),
                "tags": instance.tags,
                "users": sorted(instance.usernames),
            }
            for instance in account.instances()
        ]


def _reset(stand_in: StandIn, _query: Query, _document: Document) -> Any:
    stand_in.reset()
    return {}


_ROUTES: Mapping[tuple[str, str], Callable[[StandIn, Query, Document], Any]] = {
    ("GET", "health"): _health,
    ("GET", "settings"): _get_settings,
    ("PATCH", "settings"): _change_settings,
    ("GET", "faults"): _get_faults,
    ("POST", "faults"): _order_fault,
    ("DELETE", "faults"): _clear_faults,
    ("GET", "requests"): _requests,
    ("DELETE", "requests"): _clear_requests,
    ("GET", "instances"): _instances,
    ("POST", "reset"): _reset,
}


def _json_object(body: bytes) -> Document:
    document: Document = msgspec.json.decode(body or b"{}", type=dict[str, Any])
    return document


def _answer(status: int, document: Document) -> Reply:
    return Reply(status, msgspec.json.encode(document))
