"""The tables of a test run on one engine, with the schema of the template."""

import uuid
from dataclasses import dataclass
from typing import TYPE_CHECKING

from stepwise.operations.stack import plain
from tests.kit.deployed_stack import Stack
from tests.kit.engines.engine import Engine

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

type Row = dict[str, object] | None

_RECORDS, _BUSINESS = "IdempotencyTable", "InventoryTable"


@dataclass(frozen=True)
class Database:
    """Two tables with the key `pk`: `records` for steps and leases, `bookings` for business rows."""

    engine: Engine
    records: str
    bookings: str
    shared: "DynamoDBClient"
    """A shared client, because creating one takes longer than most tests."""

    def client(self, *, attempts: int = 1) -> "DynamoDBClient":
        """Returns a client. attempts: how often the SDK tries a call without an answer."""
        return self.engine.client(attempts=attempts)

    def row(self, client: "DynamoDBClient", table: str, key: str) -> Row:
        """The item, read with plain boto3."""
        item = client.get_item(TableName=table, Key={"pk": {"S": key}}, ConsistentRead=True).get("Item")
        return dict(plain(item)) if item else None

    def forget(self, client: "DynamoDBClient", key: str, attribute: str) -> None:
        """Remove an attribute of a record."""
        client.update_item(
            TableName=self.records,
            Key={"pk": {"S": key}},
            UpdateExpression="REMOVE #attribute",
            ExpressionAttributeNames={"#attribute": attribute},
        )


def create(engine: Engine) -> Database:
    """Create tables with unique names."""
    stack, client = Stack(f"{uuid.uuid4().hex[:8]}-"), engine.client()
    database = Database(engine, stack.name(_RECORDS), stack.name(_BUSINESS), client)
    for table in stack.tables():
        if table["TableName"] in (database.records, database.bookings):
            client.create_table(**table)
    return database
