"""Lambda handler of the check of the document."""

from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import Variables
from runtime.handler import Call, handler

from .checks import IdentityCheck, run_check
from .documents import Documents
from .openings import Openings
from .reasons import IDENTITY
from .screening import ScreeningTable
from .state_request import StateInput, parse_state


class Environment(Variables):
    applications_table: str
    screening_table: str
    documents_bucket: str


@cache
def openings() -> Openings:
    return Openings(dynamodb(), Environment().applications_table)


@cache
def places() -> tuple[Documents, ScreeningTable]:
    own = Environment()
    return Documents(client("s3"), own.documents_bucket), ScreeningTable(dynamodb(), own.screening_table)


@handler(parse_state, ids=("application_id",))
def check_identity(request: StateInput, call: Call) -> dict[str, Any]:
    """Check the document of an application."""
    check = IdentityCheck(*places(), partial(openings().pin_document, at=call.at))
    return run_check(openings(), request.application_id, check, call.at, IDENTITY)
