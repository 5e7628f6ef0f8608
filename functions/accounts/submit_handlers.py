"""Lambda handler that takes applications."""

from functools import cache

from runtime.dynamodb import dynamodb
from runtime.handler import Call, handler
from runtime.stores import StoreEnvironment, saga_steps

from .applications import ApplicationsTable
from .definition import ACCOUNT_SETUP
from .submission import Submission
from .submit_request import SubmitRequest, parse_submit


class Environment(StoreEnvironment):
    applications_table: str


@cache
def submission() -> Submission:
    own = Environment()
    return Submission(dynamodb(), saga_steps(ACCOUNT_SETUP, own), ApplicationsTable(own.applications_table))


@handler(parse_submit, ids=("application_id",))
def submit_application(request: SubmitRequest, call: Call) -> dict[str, str]:
    """Store an application, whose new row starts its execution."""
    return submission().submit(request, call.aws_request_id, call.at)
