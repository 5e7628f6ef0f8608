"""The tables of a test run on one engine, as template.yaml describes them."""

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from operations.stack import plain
from tests.kit.deployed_stack import Stack
from tests.kit.engines.engine import Engine

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Row = dict[str, object] | None

_RECORDS, _BUSINESS = "IdempotencyTable", "InventoryTable"


@dataclass(frozen=True)
class Database:
    """Two tables: `records` for steps and leases, `bookings` for the business, both with the key `pk`."""

    engine: Engine
    records: str
    bookings: str
    shared: "DynamoDBClient"
    """A shared client: creating one takes longer than most tests."""

    def client(self, *, attempts: int = 1) -> "DynamoDBClient":
        """attempts: how often the SDK itself sends a call whose answer does not come."""
        return self.engine.client(attempts=attempts)

    def row(self, client: "DynamoDBClient", table: str, key: str) -> Row:
        """What stands there, read by plain boto3."""
        item = client.get_item(TableName=table, Key={"pk": {"S": key}}, ConsistentRead=True).get("Item")
        return dict(plain(item)) if item else None


def create(engine: Engine) -> Database:
    """Make tables that no other run has."""
    stack, client = Stack(f"{uuid.uuid4().hex[:8]}-"), engine.client()
    database = Database(engine, stack.name(_RECORDS), stack.name(_BUSINESS), client)
    for table in stack.tables():
        if table["TableName"] in (database.records, database.bookings):
            client.create_table(**table)
    return database
