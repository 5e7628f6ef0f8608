"""Expected responses to the sample events of the HTTP API."""

from tests.kit.sample_events import applications, approvals
from tests.kit.sample_events.expected import Expected, Given, as_it_is


def _status(status: int, again: int | None = None, given: Given = as_it_is) -> Expected:
    return Expected({"statusCode": status}, again={"statusCode": again} if again else None, given=given)


# The stack of `make verify` has one order, o-1001, and nothing of a tenant.
EXPECTED: dict[str, Expected] = {
    "handle_request": _status(202),
    "handle_request_again": _status(202),
    "handle_request_application": _status(202),
    "handle_request_approvals": _status(200),
    # The second answer says that it is a duplicate.
    "handle_request_command": _status(202, 202),
    "handle_request_decision": _status(200, given=approvals.EXPECTED["decide_approval"].given),
    "handle_request_decision_by_token": _status(200, given=approvals.EXPECTED["decide_approval"].given),
    "handle_request_group": _status(200),
    "handle_request_import": _status(422),
    "handle_request_imports": _status(200),
    "handle_request_invalid": _status(400),
    "handle_request_key": _status(404),
    "handle_request_key_at": _status(404),
    "handle_request_order": _status(200),
    "handle_request_orders": _status(200),
    "handle_request_remove_webhook": _status(404),
    "handle_request_results": _status(404),
    "handle_request_show_application": _status(200, given=applications.EXPECTED["check_identity"].given),
    "handle_request_show_import": _status(404),
    "handle_request_show_task": _status(404),
    "handle_request_task": _status(202),
    # Each upload has its own address.
    "handle_request_upload": _status(201, 201),
    "handle_request_versions": _status(404),
    "handle_request_webhook": _status(422),
    "handle_request_webhooks": _status(200),
}
