"""What acts on the rows beside the functions: TTL, and the command that rebuilds a target."""

from contextlib import suppress
from dataclasses import dataclass

from botocore.exceptions import ClientError

from commands import finish_handlers
from entities.command import Key
from entities.rebuild import Rebuild
from runtime.dynamodb import dynamodb
from tests.faults.invocation import Invocation
from tests.faults.seams import Document
from tests.kit.deployed_stack import Stack

REBUILD = "rebuild"
_EXPIRING = ("CommandsTable", "IdempotencyTable")
_KEYS = ("pk", "sk")


@dataclass
class Rebuilding(Invocation):
    """A run of `commands rebuild` on an operator's machine."""

    @property
    def timeout(self) -> int:
        return 3600


def rebuild(event: Document, _: object) -> int:
    """A handler that does what the command does for one key."""
    tables, key = finish_handlers.machine().gates.tables, Key(event["pk"], event["sk"])
    return Rebuild(dynamodb(), tables).run(key, event["target"], finish_handlers.targets()[event["target"]])


def expired(stack: Stack, moment: float) -> list[tuple[str, Document]]:
    """Table and key of the rows that TTL may delete."""
    return [
        (table, {name: row[name] for name in _KEYS if name in row})
        for table in map(stack.name, _EXPIRING)
        for row in dynamodb().scan(TableName=table)["Items"]
        if int(row.get("expires_at", {}).get("N", moment + 1)) <= moment
    ]


def expire(table: str, key: Document, moment: float) -> None:
    """Delete a row, as TTL does, if it has still expired."""
    values = {":now": {"N": str(int(moment))}}
    with suppress(ClientError):
        dynamodb().delete_item(
            TableName=table, Key=key, ConditionExpression="expires_at <= :now", ExpressionAttributeValues=values
        )
