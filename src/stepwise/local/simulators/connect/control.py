"""The control paths, which Amazon Connect does not have: settings, faults, requests, reset."""

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec

from . import settings
from .faults import ANY, Fault
from .operations import OPERATIONS
from .simulator import Reply, Simulator

PATH = "/_simulator/"

type Document = dict[str, Any]
type Query = Mapping[str, str]


class ControlError(Exception):
    """The request to a control path is invalid."""


def reply(simulator: Simulator, method: str, target: str, body: bytes) -> Reply:
    """Handle a request to a control path."""
    url = urlsplit(target)
    operation = _ROUTES.get((method, url.path.removeprefix(PATH)))
    if operation is None:
        return _answer(404, {"error": "no such path"})
    query = {name: values[-1] for name, values in parse_qs(url.query).items()}
    try:
        return _answer(200, operation(simulator, query, _json_object(body)))
    except (msgspec.MsgspecError, ControlError) as error:
        return _answer(400, {"error": str(error)})


def _health(_simulator: Simulator, _query: Query, _document: Document) -> Any:
    return {"operations": sorted(OPERATIONS)}


def _get_settings(simulator: Simulator, _query: Query, _document: Document) -> Any:
    return simulator.state.account.settings


def _change_settings(simulator: Simulator, _query: Query, document: Document) -> Any:
    account = simulator.state.account
    with account.lock:
        account.settings = settings.changed(account.settings, document)
        return account.settings


def _get_faults(simulator: Simulator, _query: Query, _document: Document) -> Any:
    return simulator.state.faults.left()


def _order_fault(simulator: Simulator, _query: Query, document: Document) -> Any:
    fault = msgspec.convert(document, Fault)
    if fault.operation not in OPERATIONS.keys() | {ANY}:
        raise ControlError(f"the simulator has no operation {fault.operation}")
    if fault.code and not (fault.status or simulator.protocol.status(fault.code)):
        raise ControlError(f"Amazon Connect has no error {fault.code}; give its status")
    simulator.state.faults.add(fault)
    return simulator.state.faults.left()


def _clear_faults(simulator: Simulator, _query: Query, _document: Document) -> Any:
    simulator.state.faults.clear()
    return []


def _requests(simulator: Simulator, query: Query, _document: Document) -> Any:
    return simulator.state.journal.entries(query.get("operation"))


def _clear_requests(simulator: Simulator, _query: Query, _document: Document) -> Any:
    simulator.state.journal.clear()
    return []


def _instances(simulator: Simulator, _query: Query, _document: Document) -> Any:
    account = simulator.state.account
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


def _reset(simulator: Simulator, _query: Query, _document: Document) -> Any:
    simulator.reset()
    return {}


_ROUTES: Mapping[tuple[str, str], Callable[[Simulator, Query, Document], Any]] = {
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
