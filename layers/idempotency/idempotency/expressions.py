"""Parameters of conditional writes, from Python values."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

type Key = str | Mapping[str, str]
"""The value of `pk`; or the key's attributes, where it has other ones."""


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
) -> dict[str, Any]:
    """The parameters of an UpdateItem on the record `key`.

    assign: attribute to value. computed: attribute to expression. remove: attributes.
    add, delete: attribute, a set, to the name of the value of elements that it gains or loses.
    condition, computed: DynamoDB expressions; `#name` is an attribute, `:name` a value of `assign` or `values`.
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
    check = condition_check(table, key, condition, {**assign, **(values or {})}, also=expression)
    return {**check, "UpdateExpression": expression}


def condition_check(
    table: str, key: Key, condition: str, values: Mapping[str, Any], *, also: str = ""
) -> dict[str, Any]:
    """The parameters of a ConditionCheck on the record `key`.

    values: unused ones are allowed. also: another expression that uses the same names and values.
    """
    text = f"{also} {condition}"
    names = sorted(set(re.findall(r"#(\w+)", text)))
    used = sorted(set(re.findall(r":(\w+)", text)))
    return {
        "TableName": table,
        "Key": attribute_values({"pk": key} if isinstance(key, str) else key),
        "ConditionExpression": condition,
        **({"ExpressionAttributeNames": {f"#{name}": name for name in names}} if names else {}),
        **({"ExpressionAttributeValues": {f":{name}": _value(values[name]) for name in used}} if used else {}),
    }


def conditional_put(table: str, item: Mapping[str, Any], condition: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a PutItem. condition, values: as for `conditional_update`."""
    check = condition_check(table, "", condition, values)
    del check["Key"]
    return {**check, "Item": attribute_values(item)}


def attribute_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """A mapping of strings, booleans, integers, lists and mappings of these, in DynamoDB JSON.

    A frozenset of strings or integers is a set; it must not be empty.
    """
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
        case frozenset() if value:
            elements = [_value(element) for element in sorted(value)]
            ((kind, _),) = elements[0].items()
            return {f"{kind}S": [element[kind] for element in elements]}
    raise TypeError(f"not a type of DynamoDB attributes: {type(value).__name__}")
