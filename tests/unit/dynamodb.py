"""A table of step records and leases in this process: a real client, answered by MiniStack without a server."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING

from tests.kit.engines import in_process

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass
class Clock:
    """A clock that moves only when told to, and during sleeps."""

    now: datetime = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@cache
def client() -> "DynamoDBClient":
    return in_process.ministack().direct_client()


def new_table(client: "DynamoDBClient", key: str = "pk") -> str:
    """The name of a new table with this key."""
    name = f"records-{uuid.uuid4().hex}"
    client.create_table(
        TableName=name,
        BillingMode="PAY_PER_REQUEST",
        AttributeDefinitions=[{"AttributeName": key, "AttributeType": "S"}],
        KeySchema=[{"AttributeName": key, "KeyType": "HASH"}],
    )
    return name
