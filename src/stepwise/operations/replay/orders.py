"""The orders that a replay reads, page by page, each with its revision."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from .budget import Budget

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

# A page may have to be read twice after a crash; BatchGetItem takes 100.
_SCAN_PAGE, _QUERY_PAGE = 500, 100
_PROJECTION = "order_id, revision"
_INDEX = "created_ymd"

type Position = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Seen:
    """An order as it was read. revision: None for a row without one, which cannot be replayed."""

    order_id: str
    revision: int | None


@dataclass(frozen=True, slots=True)
class Page:
    """A page of orders. after: start of the next page; None for the last one."""

    orders: Sequence[Seen]
    after: Position | None


@dataclass(frozen=True, slots=True)
class Orders:
    """The Orders table, read at the pace of a budget."""

    client: "DynamoDBClient"
    table: str
    budget: Budget

    def one(self, order_id: str) -> Iterator[Page]:
        """Yield one order, or nothing."""
        yield Page(self._read([order_id]), None)

    def of_day(self, day: str, after: Position | None = None) -> Iterator[Page]:
        """Yield the orders created on a day (YYYY-MM-DD), by the index, which has only their keys."""
        query: dict[str, Any] = {
            "IndexName": _INDEX,
            "KeyConditionExpression": "created_ymd = :day",
            "ExpressionAttributeValues": {":day": {"S": day}},
            "ProjectionExpression": "order_id",
            "Limit": _QUERY_PAGE,
        }
        for answer in self._pages(self.client.query, query, after):
            keys = [item["order_id"]["S"] for item in answer["Items"]]
            yield Page(self._read(keys), answer.get("LastEvaluatedKey"))

    def all(self, after: Position | None = None) -> Iterator[Page]:
        """Yield every order of the table."""
        scan = {"ProjectionExpression": _PROJECTION, "ConsistentRead": True, "Limit": _SCAN_PAGE}
        for answer in self._pages(self.client.scan, scan, after):
            yield Page([_seen(item) for item in answer["Items"]], answer.get("LastEvaluatedKey"))

    def count(self) -> int:
        """Return the number of orders, which DynamoDB updates every six hours."""
        return self.client.describe_table(TableName=self.table)["Table"].get("ItemCount", 0)

    def _pages(self, call: Any, parameters: dict[str, Any], after: Position | None) -> Iterator[Any]:
        while True:
            start = {"ExclusiveStartKey": after} if after else {}
            answer = self._spent(call, TableName=self.table, **parameters, **start)
            yield answer
            after = answer.get("LastEvaluatedKey")
            if not after:
                return

    def _read(self, order_ids: Sequence[str]) -> list[Seen]:
        keys: Any = [{"order_id": {"S": order_id}} for order_id in order_ids]
        found: list[Seen] = []
        while keys:
            wanted = {"Keys": keys, "ProjectionExpression": _PROJECTION, "ConsistentRead": True}
            answer = self._spent(self.client.batch_get_item, RequestItems={self.table: wanted})
            found += [_seen(item) for item in answer["Responses"].get(self.table, [])]
            keys = answer.get("UnprocessedKeys", {}).get(self.table, {}).get("Keys", [])
        return found

    def _spent(self, call: Any, **parameters: Any) -> Any:
        self.budget.wait()
        answer = call(**parameters, ReturnConsumedCapacity="TOTAL")
        consumed = answer.get("ConsumedCapacity", [])
        for one in consumed if isinstance(consumed, list) else [consumed]:
            self.budget.spend(one["CapacityUnits"])
        return answer


def _seen(item: Mapping[str, Any]) -> Seen:
    revision = item.get("revision", {}).get("N")
    return Seen(item["order_id"]["S"], int(revision) if revision is not None else None)
