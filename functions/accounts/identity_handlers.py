"""Lambda handler of the check of the document."""

from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.environment import read_environment
from runtime.handler import Call, handler

from .checks import IdentityCheck, run_check
from .documents import Documents
from .openings import Openings
from .reasons import IDENTITY
from .screening import ScreeningTable
from .state_request import StateInput, parse_state


@dataclass(frozen=True, slots=True, kw_only=True)
class Environment:
    applications_table: str
    screening_table: str
    documents_bucket: str


@cache
def openings() -> Openings:
    return Openings(dynamodb(), read_environment(Environment).applications_table)


@cache
def places() -> tuple[Documents, ScreeningTable]:
    own = read_environment(Environment)
    return Documents(client("s3"), own.documents_bucket), ScreeningTable(dynamodb(), own.screening_table)


@handler(parse_state, ids=("application_id",))
def check_identity(request: StateInput, call: Call) -> dict[str, Any]:
    """Check the document of an application."""
    check = IdentityCheck(*places(), partial(openings().pin_document, at=call.at))
    return run_check(openings(), request.application_id, check, call.at, IDENTITY)
