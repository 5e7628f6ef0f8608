"""Minimal function with DynamoDB: one client and one call."""

from typing import Any

import boto3


def put(_event: Any, _context: Any) -> None:
    boto3.client("dynamodb").put_item(TableName="table", Item={"pk": {"S": "key"}})
