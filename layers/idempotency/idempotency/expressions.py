"""Parameters of conditional writes, from Python values."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from .codec import to_item, to_value

type Key = str | Mapping[str, str]
"""The value of `pk`, or the attributes of the key if it has others."""


def conditional_update(
    table: str,
    key: Key,
    *,
    condition: str,
    assign: Mapping[str, Any],
    computed: Mapping[str, str] | None = None,
    remove: Sequence[str] = (),
    add: Mapping[str, str] | None = None,
    delete: Mapping[str, str] | None = None,
    values: Mapping[str, Any] | None = None,
    encode: Callable[[Any], dict[str, Any]] = to_value,
) -> dict[str, Any]:
    """Build the parameters of an UpdateItem on the record `key`.

    assign: attribute to value. computed: attribute to expression. remove: attributes.
    add, delete: maps a set attribute to the name of the value that holds the elements to add or delete.
    condition, computed: DynamoDB expressions; `#name` is an attribute, `:name` a value of `assign` or `values`.
    encode: converts a value to DynamoDB JSON.
    """
    sets = [
        *(f"#{name} = :{name}" for name in assign),
        *(f"#{name} = {text}" for name, text in (computed or {}).items()),
    ]
    expression = f"SET {', '.join(sets)}" if sets else ""
    if remove:
        expression += f" REMOVE {', '.join(f'#{name}' for name in remove)}"
    for clause, sets_of in (("ADD", add), ("DELETE", delete)):
        if sets_of:
            expression += f" {clause} {', '.join(f'#{name} :{value}' for name, value in sets_of.items())}"
    check = condition_check(table, key, condition, {**assign, **(values or {})}, also=expression, encode=encode)
    return {**check, "UpdateExpression": expression}


def condition_check(
    table: str,
    key: Key,
    condition: str,
    values: Mapping[str, Any],
    *,
    also: str = "",
    encode: Callable[[Any], dict[str, Any]] = to_value,
) -> dict[str, Any]:
    """Build the parameters of a ConditionCheck on the record `key`.

    values: unused ones are allowed. also: another expression that uses the same names and values.
    """
    text = f"{also} {condition}"
    names = sorted(set(re.findall(r"#(\w+)", text)))
    used = sorted(set(re.findall(r":(\w+)", text)))
    return {
        "TableName": table,
        "Key": to_item({"pk": key} if isinstance(key, str) else key),
        "ConditionExpression": condition,
        **({"ExpressionAttributeNames": {f"#{name}": name for name in names}} if names else {}),
        **({"ExpressionAttributeValues": {f":{name}": encode(values[name]) for name in used}} if used else {}),
    }


def conditional_put(table: str, item: Mapping[str, Any], condition: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """Build the parameters of a PutItem. condition, values: as for `conditional_update`."""
    check = condition_check(table, "", condition, values)
    del check["Key"]
    return {**check, "Item": to_item(item)}
