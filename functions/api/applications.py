"""Applications for an account: submitted once, then tracked. The applicant is never shown."""

from typing import Any

from accounts.definition import ACCOUNT_SETUP, IN_REVIEW
from accounts.state import FLAGS
from idempotency.codec import from_item
from idempotency.dynamodb import read_rows
from idempotency.saga.table import STANDING, UNSETTLED
from runtime.dynamodb import dynamodb

from .answer import Answer, not_found
from .calls import invoke
from .request import Environment, Request

_SHOWN = ("application_id", "status", "reason", "submitted_at", "updated_at")

type Json = dict[str, Any]


def submit_application(request: Request, environment: Environment) -> Answer:
    """Submit an application. A duplicate gets the response of the first call."""
    application_id = invoke(environment.submit_application_function, request.body)["application_id"]
    return Answer(202, {"application_id": application_id}, {"location": f"/applications/{application_id}"})


def show_application(request: Request, environment: Environment) -> Answer:
    key = {"application_id": request.values["application_id"]}
    (row,) = read_rows(dynamodb(), [(environment.applications_table, key)])
    if row is None:
        raise not_found()
    found = from_item(row)
    shown = {name: found[name] for name in _SHOWN if name in found}
    return Answer(200, {**shown, "flags": sorted(found.get(FLAGS, ())), "waits_for": _waits_for(found)})


def _waits_for(found: Json) -> str | None:
    if found.get(STANDING):
        return "an operator: a compensation gave up"
    if found["status"] not in ACCOUNT_SETUP.undecided:
        return None
    # The setup of an account may follow a review.
    if UNSETTLED in found:
        return "the setup of its account"
    return "the decision of its review" if found["status"] == IN_REVIEW else "its checks"
