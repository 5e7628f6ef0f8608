"""Expected results of the sample events of account opening, and the state that each needs."""

from collections.abc import Mapping
from typing import Any

from stepwise.operations.stack import Stack
from tests.kit.project import ROOT, read_json
from tests.kit.sample_events.expected import Expected, Given

_RECORD = read_json(ROOT / "events/accounts/start_applications.json")["Records"][0]
_ROW = _RECORD["dynamodb"]["NewImage"]
_ID = _ROW["application_id"]["S"]


def stored(**changes: Any) -> Given:
    """Store this row of the application, without an execution."""

    def given(stack: Stack, _: Any) -> Mapping[str, str]:
        stack.dynamodb.put_item(TableName=stack.outputs["ApplicationsTable"], Item={**_ROW, **changes})
        return {}

    return given


def status(stack: Stack) -> Any:
    row = stack.row("ApplicationsTable", application_id=_ID)
    return row["status"] if row else None


_IN_REVIEW, _APPROVED = {"S": "IN_REVIEW"}, {"S": "APPROVED"}
_CLEAN = {"flagged": False, "reasons": []}
_MISSING = {"flagged": True, "reasons": ["DocumentMissing"]}
_UNAVAILABLE = {"flagged": True, "reasons": ["CheckUnavailable"]}
_SUBMITTED = {"application_id": _ID, "status": "SUBMITTED"}

EXPECTED: dict[str, Expected] = {
    "submit_application": Expected(_SUBMITTED, again={"status": "duplicate"}, leaves={status: "SUBMITTED"}),
    "submit_application_invalid": Expected(error="InvalidApplication", leaves={status: None}),
    "check_identity": Expected(_MISSING, given=stored(), leaves={status: "IN_REVIEW"}),
    "check_address": Expected(_CLEAN, given=stored(), leaves={status: "SUBMITTED"}),
    "check_fraud_model": Expected(_CLEAN, given=stored(), leaves={status: "SUBMITTED"}),
    "flag_application": Expected(_UNAVAILABLE, given=stored(), leaves={status: "IN_REVIEW"}),
    "reject_application": Expected(
        {"reason": "ReviewExpired"}, given=stored(status=_IN_REVIEW), leaves={status: "REJECTED"}
    ),
    "read_account_setup": Expected({"status": "APPROVED"}, given=stored(status=_APPROVED), leaves={status: "APPROVED"}),
    # The execution of an application without a row fails, and nothing is written.
    "start_applications": Expected({"batchItemFailures": []}, leaves={status: None}),
    "application_ended": Expected(given=stored(), leaves={status: "FAILED"}),
    "sweep_applications": Expected(
        {"closed": 1}, again={"closed": 0}, given=stored(status=_APPROVED), leaves={status: "APPROVED"}
    ),
}
