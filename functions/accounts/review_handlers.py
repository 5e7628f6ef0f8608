"""Lambda handlers of what a review needs: the check of the address, a check that is unavailable, a rejection."""

from functools import cache
from typing import Any

from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .address_check import check_address as address_reasons
from .checks import run_check
from .openings import Openings
from .reasons import ADDRESS, Reason
from .state_request import RejectInput, StateInput, parse_reject, parse_state


class Environment(Variables):
    applications_table: str


@cache
def openings() -> Openings:
    return Openings(dynamodb(), Environment().applications_table)


@handler(parse_state, ids=("application_id",))
def check_address(request: StateInput, call: Call) -> dict[str, Any]:
    """Check the address of an application."""
    return run_check(openings(), request.application_id, lambda one: address_reasons(one.address), call.at, ADDRESS)


@handler(parse_state, ids=("application_id",))
def flag_application(request: StateInput, call: Call) -> dict[str, Any]:
    """Flag an application of which a check has failed after its retries."""
    return run_check(openings(), request.application_id, lambda _: [Reason.CHECK_UNAVAILABLE], call.at)


@handler(parse_reject, ids=("application_id",))
def reject_application(request: RejectInput, call: Call) -> dict[str, str]:
    """Reject an application that is in review, or whose review has expired."""
    openings().reject(request.application_id, request.reason, call.at)
    return {"reason": request.reason}
