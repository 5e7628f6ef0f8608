"""Replays one order: raises its `revision`, if it has not changed since it was read, and touches nothing else."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from stepwise.operations.errors import CommandError

from .budget import Budget
from .orders import Seen

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_ROUNDS = 50
_MAX_PAUSE = 5.0
# DynamoDB rejects these calls without any effect.
_NOT_DONE = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionConflictException",
    }
)


class Outcome(StrEnum):
    """The outcome of an order, or of a record."""

    FIRED = "fired"
    MOVED_ON = "changed since they were read"
    GONE = "gone"
    NO_REVISION = "without a revision"
    OVERTAKEN = "overtaken by a newer change"
    DELIVERED = "delivered unchanged"
    STUCK = "still cannot be counted"


class NotFired(CommandError):
    """DynamoDB did not accept the write in many attempts. Earlier orders were replayed; the message names this one."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """Raises revisions. client: without retries, so that it is known whose write came first."""

    client: "DynamoDBClient"
    table: str
    budget: Budget
    sleep: Callable[[float], None] = time.sleep

    def fire(self, seen: Seen, *, in_doubt: bool = False) -> Outcome:
        """Raise the revision of an order by one.

        Does not overwrite a concurrent writer: reads the order again and replays that.
        in_doubt: a crash or a lost response may hide that the order was replayed. If it has moved on, it was
            replayed, or changed by somebody else: MOVED_ON, and nothing is written.
        Raises NotFired, or DynamoDB's error.
        """
        for attempt in range(_ROUNDS):
            if seen.revision is None:
                return Outcome.NO_REVISION
            try:
                self._raise_revision(seen.order_id, seen.revision)
            except ClientError as error:
                standing = _standing(error)
                if standing is not None:
                    if not standing:
                        return Outcome.GONE
                    if in_doubt:
                        return Outcome.MOVED_ON
                    seen = Seen(seen.order_id, _revision(standing))
                    continue
                in_doubt = _may_be_done(error) or in_doubt
            except BotoCoreError:
                in_doubt = True
            else:
                return Outcome.FIRED
            self.sleep(random.uniform(0, min(0.05 * 2**attempt, _MAX_PAUSE)))  # noqa: S311 # nosec B311 # a pause is no secret
        raise NotFired(f"order {seen.order_id}: not replayed; try again later, with the same checkpoint")

    def _raise_revision(self, order_id: str, revision: int) -> None:
        self.budget.wait()
        try:
            answer = self.client.update_item(
                TableName=self.table,
                Key={"order_id": {"S": order_id}},
                UpdateExpression="SET revision = :next",
                ConditionExpression="revision = :read",
                ExpressionAttributeValues={":read": {"N": str(revision)}, ":next": {"N": str(revision + 1)}},
                ReturnConsumedCapacity="TOTAL",
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
            )
        except (ClientError, BotoCoreError):
            # A failed condition costs what the write would have cost, and does not report it.
            self.budget.spend(1)
            raise
        self.budget.spend(answer["ConsumedCapacity"].get("CapacityUnits", 1))


def _standing(error: ClientError) -> dict[str, Any] | None:
    """Return the current order, if the condition failed; empty if there is none. None for any other error."""
    if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
        return None
    item: dict[str, Any] = error.response.get("Item", {})  # type: ignore[assignment]
    return item


def _revision(item: dict[str, Any]) -> int | None:
    number = item.get("revision", {}).get("N")
    return int(number) if number is not None else None


def _may_be_done(error: ClientError) -> bool:
    """True if a failed call may have written. Raises an error that retries cannot fix."""
    if error.response["Error"]["Code"] in _NOT_DONE:
        return False
    if error.response["ResponseMetadata"]["HTTPStatusCode"] < 500:
        raise error
    return True
