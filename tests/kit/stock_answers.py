"""Possible DynamoDB responses to requests about the stock of a SKU with two shards."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from tests.kit.answer import Answer, Parameters, Refusal

_SPREAD = {"shards": {"N": "2"}}
_RESERVATION = {"status": {"S": "Reserved"}, "shards": {"M": {"tea-01": {"N": "1"}}}}
_CONFLICT = Refusal("TransactionCanceledException", {"CancellationReasons": [{"Code": "TransactionConflict"}]})


def refused(parameters: Parameters) -> Iterable[Answer]:
    """A transaction whose lines fail: the SKU is sharded, or was when it was reserved."""
    keys = [_key(action) for action in parameters["TransactItems"]]
    if any(key.startswith("STOCK#") for key in keys):
        yield _cancelled(keys, lambda key: {"on_hand": {"N": "0"}, **_SPREAD} if key.startswith("STOCK#") else None)
        yield _cancelled(keys, lambda key: _RESERVATION if key.startswith("RESERVATION#") else None)


def snapshot(parameters: Parameters) -> Iterable[Answer]:
    """Enough in a shard; enough in both together; too little; a conflict."""
    keys = [action["Get"]["Key"] for action in parameters["TransactItems"]]
    for pieces in (9, 1, 0):
        yield {"Responses": [{"Item": _row(key, pieces)} for key in keys]}
    yield _CONFLICT


def rows(parameters: Parameters) -> Iterable[Answer]:
    """Rows as in `snapshot`; those of orders and records are answered elsewhere."""
    for pieces in (9, 1, 0):
        yield {
            "Responses": {
                table: [_row(key, pieces) for key in wanted["Keys"]]
                for table, wanted in parameters["RequestItems"].items()
            }
        }


def concerns(parameters: Parameters) -> bool:
    """Returns True for a request that reads rows of stock."""
    keys = [key for wanted in parameters.get("RequestItems", {}).values() for key in wanted["Keys"]]
    return any(key.get("pk", {"S": ""})["S"].startswith("STOCK#") for key in keys)


def _row(key: Mapping[str, Any], pieces: int) -> Mapping[str, Any]:
    return {**key, "on_hand": {"N": str(pieces)}, **_SPREAD}


def _key(action: Mapping[str, Any]) -> str:
    ((_, parameters),) = action.items()
    key: str = {**parameters.get("Item", {}), **parameters.get("Key", {})}.get("pk", {"S": ""})["S"]
    return key


def _cancelled(keys: list[str], item_of: Callable[[str], Mapping[str, Any] | None]) -> Refusal:
    found = map(item_of, keys)
    reasons = [{"Code": "ConditionalCheckFailed", "Item": item} if item else {"Code": "None"} for item in found]
    return Refusal("TransactionCanceledException", {"CancellationReasons": reasons})
