"""The saga account-setup as data.

The saga's row is the application's. SubmitApplication has committed it, as the first step, before the execution
starts; Mark Failed is its compensation. Mark Approved confirms the saga inside the machine.
"""

from collections.abc import Mapping
from functools import partial

from idempotency.saga import Parallel, Saga, SagaStep

from .requests import AccountSetup, parse_setup

SUBMITTED = "SUBMITTED"
IN_REVIEW = "IN_REVIEW"
APPROVED = "APPROVED"
REJECTED = "REJECTED"
FAILED = "FAILED"


def _of_application(request: AccountSetup) -> Mapping[str, str]:
    return {"application_id": request.application_id}


SUBMIT_APPLICATION = SagaStep(
    "SubmitApplication",
    "MarkFailed",
    table="ApplicationsTable",
    key="application_id",
    standing=(SUBMITTED, IN_REVIEW, APPROVED),
)
# The steps' rows are keyed by the application, and outlive its customer. A customer's own row goes, an account's key is
# a number that nobody can guess, and a card has one row for two steps. So each step writes both in one transaction.
_step = partial(SagaStep, table="SetupsTable", key="pk", facts=_of_application)

REGISTER_CUSTOMER = _step(
    "RegisterCustomer", "RemoveCustomer", prefix="CUSTOMER#", standing=("Registered",), undone="Removed"
)
OPEN_ACCOUNT = _step("OpenAccount", "CloseAccount", prefix="ACCOUNT#", standing=("Open",), undone="Closed")
POST_OPENING_BONUS = _step(
    "PostOpeningBonus", "ReverseOpeningBonus", prefix="BONUS#", standing=("Posted",), undone="Reversed"
)
ISSUE_CARD = _step(
    "IssueCard", "CancelCard", prefix="CARD#", standing=("Issued",), undone="Cancelled", outside="CreateCard"
)
ACTIVATE_CARD = _step("ActivateCard", "DeactivateCard", prefix="ACTIVATION#", standing=("Active",), undone="Inactive")
ACCOUNT_SETUP = Saga(
    "account-setup",
    machine="AccountSetup",
    recovery="AccountRecovery",
    id_field="application_id",
    id_path=("application", "id"),
    parse=parse_setup,
    steps=(
        SUBMIT_APPLICATION,
        REGISTER_CUSTOMER,
        Parallel(((OPEN_ACCOUNT, POST_OPENING_BONUS), (ISSUE_CARD, ACTIVATE_CARD))),
    ),
    open=SUBMITTED,
    pending=(IN_REVIEW,),
    confirmed=APPROVED,
    failed=FAILED,
    ordered=True,
)
