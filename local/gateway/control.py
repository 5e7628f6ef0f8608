"""The paths under /_stand-in: order faults, read the ledger, forget everything. No processor has these."""

import msgspec

from .messages import Answer, answer, problem
from .plan import Strike
from .stand_in import StandIn

PREFIX = "/_stand-in/"


def control(stand_in: StandIn, method: str, path: str, body: bytes) -> Answer:
    """Answer a request to a path that begins with PREFIX."""
    match method, path.removeprefix(PREFIX):
        case "GET", "ledger":
            return answer(200, stand_in.report())
        case "GET", "faults":
            return _pending(stand_in)
        case "POST", "faults":
            return _add(stand_in, body)
        case "DELETE", "faults":
            stand_in.faults.clear()
            return _pending(stand_in)
        case "POST", "reset":
            stand_in.reset()
            return answer(200, {})
    return problem(404, "no_such_path", "the stand-in has ledger, faults and reset")


def _add(stand_in: StandIn, body: bytes) -> Answer:
    try:
        stand_in.faults.add(msgspec.json.decode(body, type=Strike))
    except msgspec.DecodeError as error:
        return problem(400, "invalid_request", str(error))
    return _pending(stand_in)


def _pending(stand_in: StandIn) -> Answer:
    pending = [{"strike": msgspec.to_builtins(strike), "left": left} for strike, left in stand_in.faults.pending()]
    return answer(200, {"pending": pending})
