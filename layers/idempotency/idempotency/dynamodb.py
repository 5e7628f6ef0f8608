"""One `TransactWriteItems` or one `UpdateItem`, and what became of it."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from .errors import Contention, Refusal, StoreUnavailable

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
# botocore is not imported, so that the layer ships and needs nothing: its transport errors are known by name.
_TRANSPORT_ERRORS = frozenset({"ConnectionError", "HTTPClientError"})


class LeaseClient(Protocol):
    """The part of `boto3.client("dynamodb")` that leases call."""

    @property
    def update_item(self) -> Callable[..., Any]: ...

    def batch_get_item(self, *, RequestItems: Any) -> Any: ...


class TransactionClient(Protocol):
    """The part of `boto3.client("dynamodb")` that `transact` calls."""

    def transact_write_items(self, *, TransactItems: Any) -> Any: ...


class StepClient(LeaseClient, TransactionClient, Protocol):
    """The part of `boto3.client("dynamodb")` that steps call."""


@dataclass(frozen=True, slots=True)
class Cancellation:
    """Why a transaction was cancelled: one refusal for each action whose condition failed, by its index."""

    refusals: Mapping[int, Refusal]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of an update: whether it was applied, and the item as it was before (None: there was none)."""

    applied: bool
    old: Mapping[str, Any] | None


def transact(client: TransactionClient, actions: Sequence[Action]) -> Cancellation | None:
    """Write all actions or none, in one call.

    Returns None when everything was written, or the failed conditions when nothing was.
    Raises Contention or StoreUnavailable when the outcome is not known or not decided; anything else (a missing
    permission, a malformed action) is raised as it came.

    The SDK gives each call a client token, so that its own retries after a lost answer do not write twice.
    """
    items = [_returning_old_item(action) for action in actions]
    try:
        client.transact_write_items(TransactItems=items)
    except Exception as error:
        return _cancellation(error)
    return None


def update(client: LeaseClient, parameters: Mapping[str, Any]) -> Outcome:
    """Update one item on its condition, in one call.

    Raises Contention (a transaction was writing the item), StoreUnavailable, or anything else as it came. An update
    carries no client token: a retry of the SDK's own, after a lost answer, finds what the first try wrote.
    """
    try:
        answer = client.update_item(**parameters, ReturnValues="ALL_OLD", ReturnValuesOnConditionCheckFailure="ALL_OLD")
    except Exception as error:
        response = _response(error)
        if response.get("Error", {}).get("Code") == _CONDITION_FAILED + "Exception":
            return Outcome(False, response.get("Item"))
        _raise_if_transient(error)
        raise
    return Outcome(True, answer.get("Attributes") or None)


def read(client: LeaseClient, table: str, keys: Sequence[str]) -> list[Mapping[str, Any]]:
    """Read the records with these primary keys (up to 100), consistently, in one call; what is not there is left out.

    Raises StoreUnavailable, or anything else as it came.
    """
    wanted = {"Keys": [{"pk": {"S": key}} for key in keys], "ConsistentRead": True}
    try:
        answer = client.batch_get_item(RequestItems={table: wanted})
    except Exception as error:
        _raise_if_transient(error)
        raise
    if answer.get("UnprocessedKeys"):
        raise StoreUnavailable("DynamoDB did not answer for all records")
    return list(answer["Responses"].get(table, []))


def conditional_update(
    table: str,
    key: str,
    *,
    condition: str,
    assign: Mapping[str, Any],
    computed: Mapping[str, str] | None = None,
    remove: Sequence[str] = (),
    values: Mapping[str, Any] | None = None,
) -> dict[str, Any]:
    """The parameters of an UpdateItem on the record `key`.

    assign: attribute to value. computed: attribute to expression. remove: attributes.
    condition, computed: in DynamoDB's language; `#name` is an attribute, `:name` a value of `assign` or `values`.
    """
    sets = [
        *(f"#{name} = :{name}" for name in assign),
        *(f"#{name} = {text}" for name, text in (computed or {}).items()),
    ]
    expression = f"SET {', '.join(sets)}"
    if remove:
        expression += f" REMOVE {', '.join(f'#{name}' for name in remove)}"
    check = condition_check(table, key, condition, {**assign, **(values or {})}, also=expression)
    return {**check, "UpdateExpression": expression}


def condition_check(
    table: str, key: str, condition: str, values: Mapping[str, Any], *, also: str = ""
) -> dict[str, Any]:
    """The parameters of a ConditionCheck on the record `key`.

    values: may hold more than are used. also: another expression that uses the same names and values.
    """
    text = f"{also} {condition}"
    names = sorted(set(re.findall(r"#(\w+)", text)))
    used = sorted(set(re.findall(r":(\w+)", text)))
    return {
        "TableName": table,
        "Key": {"pk": {"S": key}},
        "ConditionExpression": condition,
        **({"ExpressionAttributeNames": {f"#{name}": name for name in names}} if names else {}),
        **({"ExpressionAttributeValues": {f":{name}": _value(values[name]) for name in used}} if used else {}),
    }


def attribute_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping of strings, booleans, integers, lists and mappings of these, in DynamoDB's own JSON."""
    return {name: _value(value) for name, value in values.items()}


def _value(value: Any) -> dict[str, Any]:
    match value:
        case str():
            return {"S": str(value)}
        case bool():
            return {"BOOL": value}
        case int():
            return {"N": str(value)}
        case list():
            return {"L": [_value(element) for element in value]}
        case Mapping():
            return {"M": attribute_values(value)}
    raise TypeError(f"not the type of an attribute: {type(value).__name__}")


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
    # A transport error has the attribute too, and None in it.
    return getattr(error, "response", None) or {}


def _decided(error: Exception, reasons: Sequence[Mapping[str, Any]]) -> Cancellation:
    refusals = {
        index: Refusal(index, reason.get("Item"))
        for index, reason in enumerate(reasons)
        if reason.get("Code") == _CONDITION_FAILED
    }
    # The step record (index 0) decides by itself. Without it, a refused business write next to a conflict proves
    # nothing: the twin of this very call may be writing the row at this moment.
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
