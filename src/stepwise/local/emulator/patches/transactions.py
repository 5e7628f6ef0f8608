"""Gives DynamoDB's transactions a duration and conflicts, which those of MiniStack 1.5.33 never have. Off unless
`STEPWISE_LIMITS` is 1.

A transaction is ongoing for `STEPWISE_LIMIT_TRANSACTION_MS` before it is executed. Meanwhile another one with one of
its items is cancelled by `TransactionConflict`, a single write of one is refused by `TransactionConflictException`, and
its own repetition by `TransactionInProgressException`.

Not emulated: conflicts of BatchWriteItem and PartiQL, and writes that come before a transaction.
"""

import asyncio
import json
from collections.abc import Callable
from typing import Any

from .limits import chosen

type Data = dict[str, Any]
type Item = tuple[str, str, str, str]
type Answer = tuple[int, dict[str, str], bytes]

_TRANSACTIONS = ("TransactWriteItems", "TransactGetItems")
_SINGLE_WRITES = ("PutItem", "UpdateItem", "DeleteItem")
_REASON = {"Code": "TransactionConflict", "Message": "Transaction is ongoing for the item."}

_ongoing: set[Item] = set()
_tokens: set[str] = set()


def apply() -> None:
    """Patch the loaded MiniStack module."""
    from ministack.services import dynamodb

    dynamodb.handle_request = _conflicting(dynamodb.handle_request, chosen().transaction_seconds)


def _conflicting(handle: Callable[..., Any], seconds: float) -> Callable[..., Any]:
    async def handle_request(method: str, path: str, headers: Data, body: bytes, query: Data) -> Answer:
        action = headers.get("x-amz-target", "").rpartition(".")[2]
        request = (method, path, headers, body, query)
        if action in (*_TRANSACTIONS, *_SINGLE_WRITES) and (refused := await _began(action, body, seconds)):
            return refused
        answer: Answer = await handle(*request)
        return answer

    return handle_request


async def _began(action: str, body: bytes, seconds: float) -> Answer | None:
    """Keep a transaction ongoing for a while. Returns a response that replaces the execution of the request, if any."""
    data = json.loads(body or b"{}")
    token = data.get("ClientRequestToken", "")
    if token and token in _tokens:
        message = "The transaction with the given request token is already in progress."
        return _error({"__type": "TransactionInProgressException", "message": message})
    items = _items(action, data)
    if _ongoing.intersection(items):
        return _conflict(action, items)
    if action == "TransactWriteItems":
        await _while_ongoing(items, token, seconds)
    return None


async def _while_ongoing(items: list[Item | None], token: str, seconds: float) -> None:
    held = {item for item in items if item}
    _ongoing.update(held)
    _tokens.add(token)
    try:
        await asyncio.sleep(seconds)
    finally:
        # The rest executes without a pause in between.
        _ongoing.difference_update(held)
        _tokens.discard(token)


def _items(action: str, data: Data) -> list[Item | None]:
    """Return the items of a request; None for an item without a nameable key."""
    if action in _SINGLE_WRITES:
        return [_item(data)]
    return [_item(operation) for member in data.get("TransactItems", []) for operation in member.values()]


def _item(operation: Data) -> Item | None:
    from ministack.core.responses import get_account_id, get_region
    from ministack.services import dynamodb

    name = dynamodb._normalize_table_name(operation.get("TableName", ""))
    table, given = dynamodb._tables.get(name), operation.get("Key") or operation.get("Item")
    if not table or not given:
        return None
    key = {part: given.get(part) for part in (table["pk_name"], table["sk_name"]) if part}
    return get_account_id(), get_region(), name, json.dumps(key, sort_keys=True)


def _conflict(action: str, items: list[Item | None]) -> Answer:
    if action in _SINGLE_WRITES:
        message = "Transaction is ongoing for the item"
        return _error({"__type": "TransactionConflictException", "message": message})
    reasons = [_REASON if item in _ongoing else {"Code": "None"} for item in items]
    codes = ", ".join(reason["Code"] for reason in reasons)
    message = f"Transaction cancelled, please refer cancellation reasons for specific reasons [{codes}]"
    found = {"__type": "TransactionCanceledException", "message": message, "CancellationReasons": reasons}
    return _error(found)


def _error(found: Data) -> Answer:
    headers = {"Content-Type": "application/x-amz-json-1.0", "x-amzn-errortype": found["__type"]}
    return 400, headers, json.dumps(found).encode()
