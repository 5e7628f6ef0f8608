"""The saga account-setup without a state machine: tables, and the functions' domain called state by state."""

import uuid
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TYPE_CHECKING, Any

from accounts.bank import AccountsTable, CardsTable, CustomersTable, LedgerTable, account_number
from accounts.definition import ACCOUNT_SETUP, SUBMIT_APPLICATION
from accounts.requests import parse_setup, setup_input
from accounts.state import submission
from accounts.steps import BankAccounts, CardProcessor, Cards, Customers, OpeningBonus, Outcome
from accounts.table import Applications
from idempotency import Step, StepStore
from idempotency.saga import SagaSteps
from idempotency.saga.state import SagaReader, SagaState
from runtime.saga import Task
from stepwise.operations.stack import plain

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEYS = {
    "ApplicationsTable": ("application_id",),
    "SetupsTable": ("pk",),
    "IdempotencyTable": ("pk",),
    "CustomersTable": ("customer_id",),
    "AccountsTable": ("account_number",),
    "LedgerTable": ("account_number", "entry_id"),
    "CardsTable": ("card_id",),
}
BUSINESS = ("CustomersTable", "AccountsTable", "LedgerTable", "CardsTable")
AT = datetime(2026, 11, 22, 12, tzinfo=UTC)
ADDRESS = {"line1": "1 Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"}


@dataclass
class AccountWorld:
    """A stack's worth of setups for one test. now: moves by a second with each call."""

    client: "DynamoDBClient"
    processor: CardProcessor | None = None
    now: datetime = AT
    tables: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for table, key in KEYS.items():
            self.tables[table] = f"{table}-{uuid.uuid4().hex}"
            schema: Any = [
                {"AttributeName": name, "KeyType": kind} for name, kind in zip(key, ("HASH", "RANGE"), strict=False)
            ]
            self.client.create_table(
                TableName=self.tables[table],
                BillingMode="PAY_PER_REQUEST",
                AttributeDefinitions=[{"AttributeName": name, "AttributeType": "S"} for name in key],
                KeySchema=schema,
            )
        self.store = StepStore(self.client, self.tables["IdempotencyTable"])
        steps = SagaSteps(ACCOUNT_SETUP, self.store, self.tables)
        number = partial(account_number, "a secret")
        self.applications = Applications(self.client, self.tables["ApplicationsTable"])
        customers = Customers(steps, self.applications, CustomersTable(self.tables["CustomersTable"]))
        accounts = BankAccounts(steps, AccountsTable(self.tables["AccountsTable"]), number)
        bonus = OpeningBonus(self.client, steps, LedgerTable(self.tables["LedgerTable"]), number)
        cards = Cards(steps, CardsTable(self.tables["CardsTable"]), self.processor)
        outcome = Outcome(steps, self.applications)
        self.functions = {
            "RegisterCustomer": customers.register,
            "RemoveCustomer": customers.remove,
            "OpenAccount": accounts.open,
            "CloseAccount": accounts.close,
            "PostOpeningBonus": bonus.post,
            "ReverseOpeningBonus": bonus.reverse,
            "IssueCard": cards.issue,
            "CancelCard": cards.cancel,
            "ActivateCard": cards.activate,
            "DeactivateCard": cards.deactivate,
            "MarkApproved": outcome.approve,
            "MarkFailed": outcome.fail,
        }

    def submit(self, application_id: str = "a-1", name: str = "Ada Lovelace") -> None:
        """Commit an application as SubmitApplication does."""
        values = {
            "application_id": application_id,
            "name": name,
            "date_of_birth": "1990-12-10",
            "address": ADDRESS,
            "document_key": f"documents/{application_id}",
            "payload_hash": name,
        }
        step = submission(application_id, "SubmitApplication", self.now)
        self.store.commit(step, [self.applications.actions.submit(values, self.now)], {})

    def call(self, *functions: str, of: str = "a-1") -> Any:
        """Call these functions one after the other. Returns the result of the last one."""
        answer: Any = None
        for function in functions:
            self.now += timedelta(seconds=1)
            step = Step(of, _step_of(function), setup_input(of), function, self.now)
            answer = self.functions[function](Task(parse_setup(step.payload), step, self.now + timedelta(seconds=15)))
        return answer

    def end(self, status: str, of: str = "a-1") -> None:
        """Set an application's final status, as another function does meanwhile."""
        self.client.update_item(
            TableName=self.tables["ApplicationsTable"],
            Key={"application_id": {"S": of}},
            UpdateExpression="SET #status = :status",
            ExpressionAttributeNames={"#status": "status"},
            ExpressionAttributeValues={":status": {"S": status}},
        )

    def edit(self, table: str) -> None:
        """Change the application in every row of a table, as another system might."""
        name = self.tables[table]
        for item in self.client.scan(TableName=name)["Items"]:
            self.client.put_item(TableName=name, Item={**item, "application_id": {"S": "another"}})

    def rows(self, table: str) -> list[dict[str, Any]]:
        return [plain(item) for item in self.client.scan(TableName=self.tables[table])["Items"]]

    def state(self, application_id: str = "a-1") -> SagaState:
        return SagaReader(ACCOUNT_SETUP, self.client, self.tables, self.tables["IdempotencyTable"]).read(application_id)


def _step_of(function: str) -> str:
    """The step that a function commits or compensates; the submission for the functions at either end."""
    names = {name: step.name for step in ACCOUNT_SETUP.all_steps for name in (step.name, step.compensation)}
    return names.get(function, SUBMIT_APPLICATION.name)
