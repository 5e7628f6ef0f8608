"""A table of step records and leases in this process: a real client, answered by MiniStack without a server."""

import uuid
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from typing import TYPE_CHECKING, Any

import boto3
from botocore.awsrequest import AWSPreparedRequest, AWSResponse

from tests.faults.seams import answer_in_process

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient


@dataclass
class Clock:
    """A clock that moves when it is told to, and when somebody sleeps by it."""

    now: datetime = datetime(2026, 11, 21, 12, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)


@cache
def client() -> "DynamoDBClient":
    made: DynamoDBClient = boto3.client(
        "dynamodb", region_name="us-east-1", aws_access_key_id="test", aws_secret_access_key="test"
    )
    made.meta.events.register("before-send.dynamodb", _answered)
    return made


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


def _answered(request: AWSPreparedRequest, **_: Any) -> AWSResponse:
    return answer_in_process("dynamodb", request)
