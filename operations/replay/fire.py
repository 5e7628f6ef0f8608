"""Fires one order: raises its `revision`, on the condition that it is as it was read, and touches nothing else."""

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any

from botocore.exceptions import BotoCoreError, ClientError

from operations.errors import CommandError

from .budget import Budget
from .orders import Seen

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

_ROUNDS = 50
_MAX_PAUSE = 5.0
# DynamoDB refuses these before it does anything.
_NOT_DONE = frozenset(
    {
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ThrottlingException",
        "TransactionConflictException",
    }
)


class Outcome(StrEnum):
    """What became of an order, or of a record."""

    FIRED = "fired"
    MOVED_ON = "moved on since they were read"
    GONE = "gone"
    NO_REVISION = "without a revision"
    OVERTAKEN = "overtaken by a newer change"
    DELIVERED = "delivered as they were"
    STUCK = "still not to be counted"


class NotFired(CommandError):
    """DynamoDB did not take the write in many rounds. What was fired before is fired; the message names the order."""


@dataclass(frozen=True, slots=True)
class Trigger:
    """client: one that sends nothing twice by itself, so that it is known whose write it was that came first."""

    client: "DynamoDBClient"
    table: str
    budget: Budget
    sleep: Callable[[float], None] = time.sleep

    def fire(self, seen: Seen, *, in_doubt: bool = False) -> Outcome:
        """Raise the revision of an order by one.

        A writer that came in between is not overwritten: the order is read again, as it stands, and fired.
        in_doubt: the order may have been fired before, as a crash or a lost answer hides. If it has moved on, it was
            fired then, or by a change of its own: MOVED_ON, and nothing is written.
        Raises NotFired, or whatever else DynamoDB answers.
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
        raise NotFired(f"order {seen.order_id}: not fired; try again later, with the same checkpoint")

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
            # A refused condition costs what the write would have, and says nothing of it.
            self.budget.spend(1)
            raise
        self.budget.spend(answer["ConsumedCapacity"].get("CapacityUnits", 1))


def _standing(error: ClientError) -> dict[str, Any] | None:
    """The order as it stands, if the condition was refused; empty if there is none. None for any other error."""
    if error.response["Error"]["Code"] != "ConditionalCheckFailedException":
        return None
    item: dict[str, Any] = error.response.get("Item", {})  # type: ignore[assignment]
    return item


def _revision(item: dict[str, Any]) -> int | None:
    number = item.get("revision", {}).get("N")
    return int(number) if number is not None else None


def _may_be_done(error: ClientError) -> bool:
    """Whether a failed call may have written. Raises the error if it will fail again and again."""
    if error.response["Error"]["Code"] in _NOT_DONE:
        return False
    if error.response["ResponseMetadata"]["HTTPStatusCode"] < 500:
        raise error
    return True
