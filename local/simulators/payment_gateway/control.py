"""The paths under /_simulator: order faults, read the ledger, forget everything, rotate. No processor has these."""

from typing import Annotated

import msgspec

from .messages import Answer, answer, problem
from .plan import Strike
from .simulator import StandIn

PREFIX = "/_simulator/"


class NewSecret(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The secret that becomes the current one."""

    secret: Annotated[str, msgspec.Meta(min_length=1)]


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
        case "POST", "secret":
            return _rotate(stand_in, body)
    return problem(404, "no_such_path", "the simulator has ledger, faults, secret and reset")


def _add(stand_in: StandIn, body: bytes) -> Answer:
    try:
        stand_in.faults.add(msgspec.json.decode(body, type=Strike))
    except msgspec.DecodeError as error:
        return problem(400, "invalid_request", str(error))
    return _pending(stand_in)


def _rotate(stand_in: StandIn, body: bytes) -> Answer:
    try:
        stand_in.access.rotate(msgspec.json.decode(body, type=NewSecret).secret)
    except msgspec.DecodeError as error:
        return problem(400, "invalid_request", str(error))
    return answer(200, {})


def _pending(stand_in: StandIn) -> Answer:
    pending = [{"strike": msgspec.to_builtins(strike), "left": left} for strike, left in stand_in.faults.pending()]
    return answer(200, {"pending": pending})
