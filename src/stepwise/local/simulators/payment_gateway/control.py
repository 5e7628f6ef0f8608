"""The control paths under /_simulator: faults, ledger, reset, secret. No processor has these."""

from typing import Annotated
from urllib.parse import unquote

import msgspec

from .messages import Answer, answer, problem
from .plan import Injection
from .simulator import Simulator

PREFIX = "/_simulator/"
_OF_ORDER = "ledger/"


class NewSecret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The new current secret."""

    secret: Annotated[str, msgspec.Meta(min_length=1)]


def control(simulator: Simulator, method: str, path: str, body: bytes) -> Answer:
    """Handle a request to a path that starts with PREFIX."""
    match method, path.removeprefix(PREFIX):
        case "GET", "ledger":
            return answer(200, simulator.report())
        case "GET", str(inner) if inner.startswith(_OF_ORDER):
            return answer(200, simulator.report(unquote(inner.removeprefix(_OF_ORDER))))
        case "GET", "faults":
            return _pending(simulator)
        case "POST", "faults":
            return _add(simulator, body)
        case "DELETE", "faults":
            simulator.faults.clear()
            return _pending(simulator)
        case "POST", "reset":
            simulator.reset()
            return answer(200, {})
        case "POST", "secret":
            return _rotate(simulator, body)
    return problem(404, "no_such_path", "the simulator has ledger, faults, secret and reset")


def _add(simulator: Simulator, body: bytes) -> Answer:
    try:
        simulator.faults.add(msgspec.json.decode(body, type=Injection))
    except msgspec.DecodeError as error:
        return problem(400, "invalid_request", str(error))
    return _pending(simulator)


def _rotate(simulator: Simulator, body: bytes) -> Answer:
    try:
        simulator.access.rotate(msgspec.json.decode(body, type=NewSecret).secret)
    except msgspec.DecodeError as error:
        return problem(400, "invalid_request", str(error))
    return answer(200, {})


def _pending(simulator: Simulator) -> Answer:
    pending = [{"injection": msgspec.to_builtins(one), "left": left} for one, left in simulator.faults.pending()]
    return answer(200, {"pending": pending})
