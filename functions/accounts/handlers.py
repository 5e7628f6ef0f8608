"""Every Lambda handler of accounts.

| handler                                           | called by                                             |
| ------------------------------------------------- | ----------------------------------------------------- |
| submit_application                                | applicants: by the command line and the HTTP API      |
| check_identity, check_address, check_fraud_model  | the states of account-opening that check              |
| flag_application                                  | its states for a check that has failed                |
| reject_application, read_account_setup            | its states after a review, and after account-setup    |
| start_applications                                | the stream of ApplicationsTable                       |
| application_ended, sweep_applications             | the event of an end of account-opening; the schedule  |
| a step, or its compensation; mark_approved        | the states of account-setup and account-recovery      |
| finalize_account, sweep_accounts                  | the event of an end of either; the schedule           |
"""

import logging
from collections.abc import Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

from runtime.clients import client
from runtime.dynamodb import dynamodb
from runtime.ended import Ended, detail_parser
from runtime.finalization import FinalizationEnvironment, has_time
from runtime.handler import Call, handler, unread
from runtime.machine import SUCCEEDED, Machine
from runtime.saga import Result, Task, ended_parser, tasks
from runtime.stores import lease_store, saga_steps
from runtime.streams import Record, each, parse_records

from .definition import (
    ACCOUNT_SETUP,
    ACTIVATE_CARD,
    ISSUE_CARD,
    OPEN_ACCOUNT,
    POST_OPENING_BONUS,
    REGISTER_CUSTOMER,
    SUBMIT_APPLICATION,
)
from .requests import (
    AccountSetup,
    OpeningEnded,
    RejectInput,
    StateInput,
    SubmitRequest,
    parse_reject,
    parse_state,
    parse_submit,
)

# Each function needs some of these only, and loading all takes a tenth of a cold start.
if TYPE_CHECKING:
    from collections.abc import Callable

    from idempotency.saga import SagaSteps
    from idempotency.saga.finalization import Finalization
    from idempotency.saga.sweep import Sweep

    from .checks import FraudCheck
    from .documents import Documents
    from .recovery import Recovery
    from .screening import ScreeningTable
    from .steps import BankAccounts, CardProcessor, Cards, Customers, OpeningBonus, Outcome
    from .submission import Submission
    from .table import Applications

# One application takes up to five calls.
_MILLISECONDS_FOR_AN_APPLICATION = 20_000

_logger = logging.getLogger(__name__)


class Environment(FinalizationEnvironment):
    """account_number_key_arn: of the secret that account numbers derive from.

    card_processor_url: empty without a processor; then the ARNs of the secrets are empty, too.
    """

    applications_table: str
    setups_table: str
    customers_table: str
    accounts_table: str
    ledger_table: str
    cards_table: str
    screening_table: str
    documents_bucket: str
    account_opening_arn: str
    account_setup_arn: str
    account_number_key_arn: str
    card_processor_url: str = ""
    card_processor_secret_arn: str = ""
    card_key_arn: str = ""


environment = Environment()


@cache
def applications() -> "Applications":
    from .table import Applications

    return Applications(dynamodb(), environment.applications_table)


@cache
def saga() -> "SagaSteps":
    return saga_steps(ACCOUNT_SETUP, environment)


# account-opening


@cache
def submission() -> "Submission":
    from .submission import Submission

    return Submission(saga(), applications())


@cache
def screening() -> "ScreeningTable":
    from .screening import ScreeningTable

    return ScreeningTable(dynamodb(), environment.screening_table)


@cache
def documents() -> "Documents":
    from .documents import Documents

    return Documents(client("s3"), environment.documents_bucket)


@cache
def fraud_check() -> "FraudCheck":
    from .bank import KnownCustomers
    from .checks import FraudCheck

    customers = KnownCustomers(dynamodb(), environment.customers_table)
    return FraudCheck(applications(), screening(), customers.has)


@cache
def opening() -> Machine:
    return Machine.of(environment.account_opening_arn)


@cache
def setup() -> Machine:
    return Machine.of(environment.account_setup_arn)


@cache
def recovery() -> "Recovery":
    from .recovery import Recovery

    return Recovery(applications(), opening(), setup())


@handler(parse_submit, ids=("application_id",))
def submit_application(request: SubmitRequest, call: Call) -> dict[str, str]:
    """Store an application, whose new row starts its execution."""
    return submission().submit(request, call.aws_request_id, call.at)


@handler(parse_state, ids=("application_id",))
def check_identity(request: StateInput, call: Call) -> dict[str, Any]:
    """Check the document of an application."""
    from .checks import IDENTITY, IdentityCheck, run_check

    check = IdentityCheck(documents(), screening(), partial(applications().pin_document, at=call.at))
    return run_check(applications(), request.application_id, check, call.at, IDENTITY)


@handler(parse_state, ids=("application_id",))
def check_address(request: StateInput, call: Call) -> dict[str, Any]:
    """Check the address of an application."""
    from .checks import ADDRESS, address_reasons, run_check

    return run_check(
        applications(), request.application_id, lambda found: address_reasons(found.address), call.at, ADDRESS
    )


@handler(parse_state, ids=("application_id",))
def check_fraud_model(request: StateInput, call: Call) -> dict[str, Any]:
    """Check an applicant: customers, other applications from the address, barred names."""
    from .checks import FRAUD_MODEL, run_check

    return run_check(applications(), request.application_id, fraud_check(), call.at, FRAUD_MODEL)


@handler(parse_state, ids=("application_id",))
def flag_application(request: StateInput, call: Call) -> dict[str, Any]:
    """Flag an application of which a check has failed after its retries."""
    from .checks import run_check
    from .state import Reason

    return run_check(applications(), request.application_id, lambda _: [Reason.CHECK_UNAVAILABLE], call.at)


@handler(parse_reject, ids=("application_id",))
def reject_application(request: RejectInput, call: Call) -> dict[str, str]:
    """Reject an application that is in review, or whose review has expired."""
    applications().reject(request.application_id, request.reason, call.at)
    return {"reason": request.reason}


@handler(parse_state, ids=("application_id",))
def read_account_setup(request: StateInput, _call: Call) -> dict[str, str]:
    """Tell whether the setup has approved the application."""
    from .recovery import read_outcome

    return read_outcome(applications(), setup(), request.application_id)


@handler(parse_records)
def start_applications(records: Sequence[Record], _call: Call) -> dict[str, Any]:
    """Start the execution of each new application in the batch (stream of ApplicationsTable, new rows)."""
    from .recovery import start

    machine = opening()
    return each(records, lambda record: start(record, machine))


@handler(detail_parser(OpeningEnded), ids=("application_id", "status"))
def application_ended(ended: OpeningEnded, call: Call) -> None:
    """Fail an application whose execution failed, or was cut off (event *Execution Status Change*)."""
    if ended.status != SUCCEEDED and recovery().end(ended.application_id, ended.status, call.at):
        _logger.warning("application failed", extra={"application_id": ended.application_id})


@handler(unread)
def sweep_applications(_: None, call: Call) -> dict[str, int]:
    """Start or fail the applications whose stream record or event was lost."""
    return recovery().sweep(call.at, lambda: call.get_remaining_time_in_millis() > _MILLISECONDS_FOR_AN_APPLICATION)


# account-setup

setup_task = tasks(ACCOUNT_SETUP)


@cache
def customers() -> "Customers":
    from .bank import CustomersTable
    from .steps import Customers

    return Customers(saga(), applications(), CustomersTable(environment.customers_table))


@cache
def account_number() -> "Callable[[str], str]":
    from runtime.secrets import Secret

    from .bank import account_numbers

    return account_numbers(Secret(environment.account_number_key_arn).read)


@cache
def bank_accounts() -> "BankAccounts":
    from .bank import AccountsTable
    from .steps import BankAccounts

    return BankAccounts(saga(), AccountsTable(environment.accounts_table), account_number())


@cache
def opening_bonus() -> "OpeningBonus":
    from .bank import LedgerTable
    from .steps import OpeningBonus

    return OpeningBonus(dynamodb(), saga(), LedgerTable(environment.ledger_table), account_number())


@cache
def cards() -> "Cards":
    """The cards in CardsTable alone, for functions that ask no processor."""
    from .bank import CardsTable
    from .steps import Cards

    return Cards(saga(), CardsTable(environment.cards_table))


@cache
def processed_cards() -> "Cards":
    """The cards, with the processor that makes them."""
    from .steps import Cards

    return Cards(saga(), cards().cards, _processor())


def _processor() -> "CardProcessor | None":
    if not environment.card_processor_url:
        return None
    from runtime.bearer import BearerSession
    from runtime.secrets import Secret

    from .processor import HttpProcessor

    return HttpProcessor(
        environment.card_processor_url.rstrip("/"),
        lease_store(environment),
        BearerSession(Secret(environment.card_processor_secret_arn)),
        Secret(environment.card_key_arn),
    )


@cache
def outcome() -> "Outcome":
    from .steps import Outcome

    return Outcome(saga(), applications())


@cache
def finalization() -> "Finalization":
    from runtime.finalization import finalization

    from .table import ApplicationsTable

    return finalization(ACCOUNT_SETUP, ApplicationsTable, environment)


@cache
def sweep() -> "Sweep":
    from runtime.finalization import sweep

    return sweep(finalization(), environment)


@setup_task(REGISTER_CUSTOMER)
def register_customer(task: Task[AccountSetup]) -> Result:
    """Make the applicant a customer."""
    return customers().register(task)


@setup_task(REGISTER_CUSTOMER)
def remove_customer(task: Task[AccountSetup]) -> Result:
    """Undo register_customer: delete the customer."""
    return customers().remove(task)


@setup_task(OPEN_ACCOUNT)
def open_account(task: Task[AccountSetup]) -> Result:
    """Open the customer's account."""
    return bank_accounts().open(task)


@setup_task(OPEN_ACCOUNT)
def close_account(task: Task[AccountSetup]) -> Result:
    """Undo open_account: close the account."""
    return bank_accounts().close(task)


@setup_task(POST_OPENING_BONUS)
def post_opening_bonus(task: Task[AccountSetup]) -> Result:
    """Post the opening bonus to the account."""
    return opening_bonus().post(task)


@setup_task(POST_OPENING_BONUS)
def reverse_opening_bonus(task: Task[AccountSetup]) -> Result:
    """Undo post_opening_bonus: post its reversal."""
    return opening_bonus().reverse(task)


@setup_task(ISSUE_CARD)
def issue_card(task: Task[AccountSetup]) -> Result:
    """Issue the customer's card."""
    return processed_cards().issue(task)


@setup_task(ISSUE_CARD)
def cancel_card(task: Task[AccountSetup]) -> Result:
    """Undo issue_card: cancel the card."""
    return processed_cards().cancel(task)


@setup_task(ACTIVATE_CARD)
def activate_card(task: Task[AccountSetup]) -> Result:
    """Activate the card."""
    return cards().activate(task)


@setup_task(ACTIVATE_CARD)
def deactivate_card(task: Task[AccountSetup]) -> Result:
    """Undo activate_card: deactivate the card."""
    return cards().deactivate(task)


@setup_task(SUBMIT_APPLICATION)
def mark_approved(task: Task[AccountSetup]) -> Result:
    """Confirm the saga: the application is approved, and nothing can be undone."""
    return outcome().approve(task)


@setup_task(SUBMIT_APPLICATION)
def mark_failed(task: Task[AccountSetup]) -> Result:
    """Undo the application: it has failed."""
    return outcome().fail(task)


@handler(ended_parser(ACCOUNT_SETUP), ids=("application_id",))
def finalize_account(ended: Ended, call: Call) -> None:
    """Finalize the setup whose saga or recovery has ended."""
    finalization().finalize_event(ended, call.at)


@handler(unread)
def sweep_accounts(_: None, call: Call) -> dict[str, int]:
    """Finalize the setups whose event was lost, and count those of which something is not undone."""
    return sweep().run(call.at, lambda: has_time(call))
