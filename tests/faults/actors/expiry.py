"""TTL: which rows it may delete, and their deletion."""

from collections.abc import Sequence
from contextlib import suppress

from botocore.exceptions import ClientError

from runtime.dynamodb import dynamodb
from tests.faults.seams import Document
from tests.kit.deployed_stack import Stack

EXPIRING = ("CommandsTable", "IdempotencyTable")
_KEYS = ("pk", "sk")


def expired(stack: Stack, moment: float, tables: Sequence[str] = EXPIRING) -> list[tuple[str, Document]]:
    """Return table and key of the rows that TTL may delete."""
    return [
        (table, {name: row[name] for name in _KEYS if name in row})
        for table in map(stack.name, tables)
        for row in dynamodb().scan(TableName=table)["Items"]
        if int(row.get("expires_at", {}).get("N", moment + 1)) <= moment
    ]


def expire(table: str, key: Document, moment: float) -> None:
    """Delete a row, as TTL does, if it is still expired."""
    values = {":now": {"N": str(int(moment))}}
    with suppress(ClientError):
        dynamodb().delete_item(
            TableName=table, Key=key, ConditionExpression="expires_at <= :now", ExpressionAttributeValues=values
        )
