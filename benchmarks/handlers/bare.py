"""The minimum of a function with DynamoDB: a client and a call."""

from typing import Any

import boto3


def put(_event: Any, _context: Any) -> None:
    boto3.client("dynamodb").put_item(TableName="table", Item={"pk": {"S": "key"}})
