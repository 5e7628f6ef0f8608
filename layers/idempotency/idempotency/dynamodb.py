"""One `TransactWriteItems`, `PutItem` or `UpdateItem` and its outcome; consistent reads and snapshot reads."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import Contention, Refusal, StateConflict, StoreUnavailable

type Action = Mapping[str, Mapping[str, Any]]
"""One element of `TransactItems`: {"Put" | "Update" | "Delete" | "ConditionCheck": {...}} in DynamoDB's own JSON."""

_CONDITION_FAILED = "ConditionalCheckFailed"
_CONFLICTS = frozenset({"TransactionConflict", "TransactionInProgressException", "TransactionConflictException"})
_UNAVAILABLE = frozenset(
    {
        "InternalServerError",
        "ProvisionedThroughputExceeded",
        "ProvisionedThroughputExceededException",
        "RequestLimitExceeded",
        "ServiceUnavailable",
        "ThrottlingError",
        "ThrottlingException",
    }
)
# Transport errors are matched by name, so that importing the layer does not import botocore.
_TRANSPORT_ERRORS = frozenset({"ConnectionError", "HTTPClientError"})


class PersonalKey(dict[str, Mapping[str, Any]]):
    """An action on a row whose key is personal data, so messages omit the key. Otherwise like any Action."""


class TransactionClient(Protocol):
    """The part of `boto3.client("dynamodb")` that `transact` calls."""

    def transact_write_items(self, *, TransactItems: Any) -> Any: ...


class LeaseClient(TransactionClient, Protocol):
    """The part of `boto3.client("dynamodb")` that leases call."""

    @property
    def put_item(self) -> Callable[..., Any]: ...

    def batch_get_item(self, *, RequestItems: Any) -> Any: ...


class StepClient(LeaseClient, Protocol):
    """The part of `boto3.client("dynamodb")` that steps call."""


class SnapshotClient(LeaseClient, Protocol):
    """The part of `boto3.client("dynamodb")` that snapshot reads call, too."""

    def transact_get_items(self, *, TransactItems: Any) -> Any: ...


class RowClient(LeaseClient, Protocol):
    """The part of `boto3.client("dynamodb")` that writes of single rows call, too."""

    @property
    def update_item(self) -> Callable[..., Any]: ...


@dataclass(frozen=True, slots=True)
class Cancellation:
    """The reason why a transaction was cancelled: one `Refusal` per failed condition, with its action's index."""

    refusals: Mapping[int, Refusal]


@dataclass(frozen=True, slots=True)
class Outcome:
    """The outcome of a write. old: the item that failed the condition; None if there is none or it was applied."""

    applied: bool
    old: Mapping[str, Any] | None = None


def transact(client: TransactionClient, actions: Sequence[Action]) -> Cancellation | None:
    """Write all actions or none, in one call.

    Returns None if everything was written, or the failed conditions if nothing was. Raises Contention (nothing was
    decided) or StoreUnavailable (the outcome is unknown). Other errors, such as a missing permission, pass unchanged.

    The SDK gives each call a client token, so that its retries after a lost response do not write twice.
    """
    items = [_returning_old_item(action) for action in actions]
    try:
        client.transact_write_items(TransactItems=items)
    except Exception as error:
        return _cancellation(error)
    return None


def put(client: LeaseClient, parameters: Mapping[str, Any]) -> Outcome:
    """Put one item under its condition, in one call.

    Raises Contention (a transaction was writing the item) or StoreUnavailable. Other errors pass unchanged. A put has
    no client token: after a lost response, the SDK's retry finds what the first attempt wrote.
    """
    return _written(client.put_item, parameters)


def update(client: RowClient, parameters: Mapping[str, Any]) -> Outcome:
    """Update one item under its condition, in one call. Raises as `put`."""
    return _written(client.update_item, parameters)


def _written(write: Callable[..., Any], parameters: Mapping[str, Any]) -> Outcome:
    try:
        write(**parameters, ReturnValuesOnConditionCheckFailure="ALL_OLD")
    except Exception as error:
        response = _response(error)
        if response.get("Error", {}).get("Code") == _CONDITION_FAILED + "Exception":
            return Outcome(False, response.get("Item"))
        _raise_if_transient(error)
        raise
    return Outcome(True)


def state_conflict(key: str, writes: Sequence[Action], cancelled: Cancellation) -> StateConflict:
    """Return the error for failed conditions of business writes, which follow one record in a transaction.

    key: that record's key. writes: the caller's; a refusal's index counts through them.
    """
    refusals = tuple(Refusal(index - 1, refusal.item) for index, refusal in sorted(cancelled.refusals.items()))
    rows = ", ".join(row(writes[refusal.index]) for refusal in refusals)
    return StateConflict(f"{key}: not in the expected state: {rows}", refusals)


def row(action: Action) -> str:
    """Name the row of an action, for a message."""
    ((_, parameters),) = action.items()
    key = json.dumps(parameters.get("Key", "(new row)"))
    return f"{parameters['TableName']} {'(personal key)' if isinstance(action, PersonalKey) else key}"


def answered[R](call: Callable[[], R]) -> R:
    """Return the response of a DynamoDB call. Raises Contention or StoreUnavailable. Other errors pass unchanged."""
    try:
        return call()
    except Exception as error:
        _raise_if_transient(error)
        raise


def read(client: LeaseClient, table: str, keys: Sequence[str]) -> list[Mapping[str, Any]]:
    """Read the records with these primary keys (up to 100), consistently, in one call. Missing ones are omitted.

    Raises StoreUnavailable. Other errors pass unchanged.
    """
    return [item for item in read_rows(client, [(table, {"pk": key}) for key in keys]) if item is not None]


def read_rows(client: LeaseClient, rows: Sequence[tuple[str, Mapping[str, str]]]) -> list[Mapping[str, Any] | None]:
    """Read up to 100 rows of any tables, consistently, in one call. Each row is given by its table and key.

    Returns them in the same order, with None for each missing row. Raises as `read`.
    """
    keys = [(table, _key_of(key)) for table, key in rows]
    wanted: dict[str, Any] = {}
    for table, key in keys:
        wanted.setdefault(table, {"Keys": [], "ConsistentRead": True})["Keys"].append(key)
    answer = answered(lambda: client.batch_get_item(RequestItems=wanted))
    if answer.get("UnprocessedKeys"):
        raise StoreUnavailable("DynamoDB did not answer for all rows")
    return [_found(answer["Responses"].get(table, []), key) for table, key in keys]


def read_snapshot(
    client: SnapshotClient, rows: Sequence[tuple[str, Mapping[str, str]]]
) -> list[Mapping[str, Any] | None]:
    """Read up to 100 rows as `read_rows` does, but as one snapshot: no transaction commits between two of the reads.

    Raises Contention (a transaction was writing one of them) or StoreUnavailable. Other errors pass unchanged.
    """
    gets = [{"Get": {"TableName": table, "Key": _key_of(key)}} for table, key in rows]
    try:
        answer = client.transact_get_items(TransactItems=gets)
    except Exception as error:
        _cancellation(error)
        raise
    return [response.get("Item") for response in answer["Responses"]]


def _found(items: Sequence[Mapping[str, Any]], key: Mapping[str, Any]) -> Mapping[str, Any] | None:
    return next((item for item in items if key.items() <= item.items()), None)


def _key_of(key: Mapping[str, str]) -> dict[str, Any]:
    return {name: {"S": value} for name, value in key.items()}


def _returning_old_item(action: Action) -> dict[str, dict[str, Any]]:
    ((kind, parameters),) = action.items()
    return {kind: {**parameters, "ReturnValuesOnConditionCheckFailure": "ALL_OLD"}}


def _cancellation(error: Exception) -> Cancellation:
    response = _response(error)
    code = response.get("Error", {}).get("Code", "")
    if code == "TransactionCanceledException":
        return _decided(error, response.get("CancellationReasons", []))
    _raise_if_transient(error)
    raise error


def _raise_if_transient(error: Exception) -> None:
    response = _response(error)
    code = response.get("Error", {}).get("Code", "")
    if code in _CONFLICTS:
        raise Contention(code) from error
    if code in _UNAVAILABLE or response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0) >= 500:
        raise StoreUnavailable(code) from error
    if not _TRANSPORT_ERRORS.isdisjoint(cls.__name__ for cls in type(error).__mro__):
        raise StoreUnavailable(type(error).__name__) from error


def _response(error: Exception) -> Mapping[str, Any]:
    # A transport error has the attribute too, with None.
    return getattr(error, "response", None) or {}


def _decided(error: Exception, reasons: Sequence[Mapping[str, Any]]) -> Cancellation:
    refusals = {
        index: Refusal(index, reason.get("Item"))
        for index, reason in enumerate(reasons)
        if reason.get("Code") == _CONDITION_FAILED
    }
    # A failed condition on the step record (index 0) is conclusive. On a business write, next to a conflict, it is
    # not: a duplicate of this call may be writing the row.
    if 0 in refusals:
        return Cancellation(refusals)
    codes = {str(reason.get("Code")) for reason in reasons} - {"None", _CONDITION_FAILED}
    if codes & _CONFLICTS:
        raise Contention("another transaction was writing the same items") from error
    if codes & _UNAVAILABLE:
        raise StoreUnavailable(", ".join(sorted(codes))) from error
    if codes or not refusals:
        raise error
    return Cancellation(refusals)
