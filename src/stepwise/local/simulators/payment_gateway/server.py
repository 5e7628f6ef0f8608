"""The simulator as an HTTP server on 127.0.0.1."""

from typing import Annotated
from urllib.parse import unquote, urlsplit

import msgspec

from stepwise.local.simulators.serving import Answer, Asked, Call, SimulatorServer, fault_controls

from .charges import KEY_HEADER
from .faults import Injection
from .messages import Request, problem
from .simulator import CHARGES, Api, Simulator


class NewSecret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new current secret."""

    secret: Annotated[str, msgspec.Meta(min_length=1)]


class GatewayServer(SimulatorServer):
    largest_body = 64 * 1024

    def __init__(self, api: Api = CHARGES) -> None:
        self.simulator = simulator = Simulator(api=api)
        self.controls = {
            ("GET", "ledger"): lambda asked: simulator.report(asked.below or None),
            ("POST", "reset"): lambda _: simulator.reset(),
            ("POST", "secret"): self._rotate,
            **fault_controls(lambda: simulator.faults, Injection),
        }
        super().__init__()

    def respond(self, call: Call, body: bytes) -> Answer:
        key, authorization = (call.headers.get(name, "") for name in (KEY_HEADER, "Authorization"))
        path = urlsplit(call.path).path
        request = route(call.command, path, key, body, authorization, self.simulator.api.path)
        return self.simulator.handle(request) if isinstance(request, Request) else request

    def too_large(self) -> Answer:
        return problem(400, "invalid_request", "body: at most 64 KiB, with a Content-Length", field="body")

    def _rotate(self, asked: Asked) -> None:
        self.simulator.access.rotate(asked.read(NewSecret).secret)


def route(
    method: str, path: str, key_header: str, body: bytes, authorization: str, made: str = CHARGES.path
) -> Request | Answer:
    """Return the request of a method and a path, or an error response. made: the path of the created resource."""
    first, *parts = [unquote(part) for part in path.split("/")[1:]]
    match method, parts if first == made else None:
        case "POST", []:
            return Request("charge", key_header, body, authorization)
        case "GET", [key]:
            return Request("lookup", key, authorization=authorization)
        case "POST", [key, "cancel"]:
            return Request("cancel", key, authorization=authorization)
        case _, [] | [_] | [_, "cancel"]:
            return problem(405, "no_such_method", "this path has another method")
    return problem(404, "no_such_path", "the processor has no such path")
