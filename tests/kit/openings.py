"""Account opening without a state machine: tables, documents, and the functions' domain called state by state."""

import uuid
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from accounts.bank import KnownCustomers
from accounts.checks import FRAUD_MODEL, IDENTITY, FraudCheck, IdentityCheck, run_check
from accounts.definition import ACCOUNT_SETUP
from accounts.documents import Documents
from accounts.recovery import Recovery
from accounts.requests import parse_submit
from accounts.screening import ScreeningTable
from accounts.state import ADDRESS_KEY, OPEN_SINCE
from accounts.submission import Submission
from accounts.table import Applications
from idempotency import StepStore
from idempotency.saga import SagaSteps
from runtime.machine import Machine
from tests.kit.commands import START, Machines
from tests.kit.engines import in_process_s3

PDF = b"%PDF-1.7 a passport"
OPENING, SETUP = "account-opening", "account-setup"


def application(application_id: str = "a-1", **changes: Any) -> dict[str, Any]:
    """The input of SubmitApplication that raises no flag."""
    address = {"line1": "12 Elm Street", "city": "Springfield", "postal_code": "12345", "country": "US"}
    return {
        "application_id": application_id,
        "name": "Ada Lovelace",
        "date_of_birth": "1990-12-10",
        "address": address | changes.pop("address", {}),
        "document_key": f"documents/{application_id}",
        **changes,
    }


@dataclass
class OpeningWorld:
    """A stack's worth of account opening for one test."""

    client: Any
    now: datetime = START
    opening: Machines = field(default_factory=Machines)
    setup: Machines = field(default_factory=Machines)

    def __post_init__(self) -> None:
        self.bucket = f"documents-{uuid.uuid4().hex}"
        self.s3 = in_process_s3.client()
        self.s3.create_bucket(Bucket=self.bucket)
        versioned: Any = {"Status": "Enabled"}
        self.s3.put_bucket_versioning(Bucket=self.bucket, VersioningConfiguration=versioned)
        indexes = {OPEN_SINCE: [OPEN_SINCE], ADDRESS_KEY: [ADDRESS_KEY, "submitted_at"]}
        self.applications = Applications(self.client, self._table(["application_id"], indexes))
        self.screened, self.customers = self._table(["pk", "sk"]), self._table(["customer_id"])
        self.setups = self._table(["pk"])
        self.store = StepStore(self.client, self._table(["pk"]))

    def _table(self, key: list[str], indexes: dict[str, list[str]] | None = None) -> str:
        name, found = f"t-{uuid.uuid4().hex}", indexes or {}
        attributes = {*key, *(one for names in found.values() for one in names)}
        made = [
            {"IndexName": index, "KeySchema": _schema(names), "Projection": {"ProjectionType": "ALL"}}
            for index, names in found.items()
        ]
        self.client.create_table(
            TableName=name,
            BillingMode="PAY_PER_REQUEST",
            AttributeDefinitions=[{"AttributeName": one, "AttributeType": "S"} for one in sorted(attributes)],
            KeySchema=_schema(key),
            **({"GlobalSecondaryIndexes": made} if made else {}),
        )
        return name

    # The functions

    @property
    def screening(self) -> ScreeningTable:
        return ScreeningTable(self.client, self.screened)

    @property
    def submission(self) -> Submission:
        return Submission(self.steps, self.applications)

    @property
    def steps(self) -> SagaSteps:
        # The saga's other rows are in a separate table, which nothing writes here.
        names = {step.table: self.setups for step in ACCOUNT_SETUP.deployed}
        return SagaSteps(ACCOUNT_SETUP, self.store, {**names, "ApplicationsTable": self.applications.name})

    @property
    def recovery(self) -> Recovery:
        return Recovery(self.applications, _machine(self.opening, OPENING), _machine(self.setup, SETUP))

    def submit(self, document: dict[str, Any], owner: str = "") -> dict[str, str]:
        return self.submission.submit(parse_submit(document), owner or uuid.uuid4().hex, self.now)

    def upload(self, application_id: str, content: bytes = PDF) -> str:
        """Upload a document. Returns its version."""
        put = self.s3.put_object(Bucket=self.bucket, Key=f"documents/{application_id}", Body=content)
        return put["VersionId"]

    def check_identity(self, application_id: str) -> dict[str, Any]:
        check = IdentityCheck(
            Documents(self.s3, self.bucket), self.screening, partial(self.applications.pin_document, at=self.now)
        )
        return run_check(self.applications, application_id, check, self.now, IDENTITY)

    def check_fraud_model(self, application_id: str) -> dict[str, Any]:
        known = KnownCustomers(self.client, self.customers)
        check = FraudCheck(self.applications, self.screening, known.has)
        return run_check(self.applications, application_id, check, self.now, FRAUD_MODEL)

    def sweep(self, *, minutes: int = 5, has_time: bool = True) -> dict[str, int]:
        self.now += timedelta(minutes=minutes)
        return self.recovery.sweep(self.now, lambda: has_time)

    # The content of the tables

    def row(self, application_id: str = "a-1") -> dict[str, Any]:
        key = {"application_id": {"S": application_id}}
        found = self.client.get_item(TableName=self.applications.name, Key=key).get("Item", {})
        return {name: next(iter(value.values())) for name, value in found.items()}

    def status(self, application_id: str = "a-1") -> Any:
        return self.row(application_id).get("status")

    def write(self, application_id: str, **values: str) -> None:
        """Write attributes of an application, as account-setup does."""
        self.client.update_item(
            TableName=self.applications.name,
            Key={"application_id": {"S": application_id}},
            UpdateExpression="SET " + ", ".join(f"#{name} = :{name}" for name in values),
            ExpressionAttributeNames={f"#{name}": name for name in values},
            ExpressionAttributeValues={f":{name}": {"S": value} for name, value in values.items()},
        )


def _schema(key: list[str]) -> list[dict[str, str]]:
    return [{"AttributeName": name, "KeyType": kind} for name, kind in zip(key, ("HASH", "RANGE"), strict=False)]


def _machine(client: Machines, name: str) -> Machine:
    return Machine(lambda: client, f"arn:aws:states:r:1:stateMachine:{name}")
