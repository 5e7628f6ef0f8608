"""Rows of tables as lines for a person. Somebody may have written a row by hand, so any field may be missing."""

from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

from stepwise.operations import money

_AMOUNTS = frozenset({"total", "amount"})


class Fact(NamedTuple):
    """One line: its name, and its value as text."""

    name: str
    value: str


def facts(row: Mapping[str, Any] | None, names: Iterable[str]) -> list[Fact]:
    """Return the fields that a row has, in this order; amounts with their currency."""
    return [Fact(name.replace("_", " "), shown(name, row)) for name in names if name in row] if row else []


def shown(name: str, row: Mapping[str, Any]) -> str:
    """Format a field of a row as text."""
    value = row[name]
    if name in _AMOUNTS:
        return amount(value, row.get("currency"))
    if isinstance(value, set | frozenset | list | tuple):
        return ", ".join(sorted(map(_one, value)) if isinstance(value, set | frozenset) else map(_one, value))
    if isinstance(value, Mapping):
        return ", ".join(f"{key}={one}" for key, one in value.items())
    return "" if value is None else str(value)


def amount(value: object, currency: object) -> str:
    """Format an amount in the currency's minor unit as people write it; other values are returned unchanged."""
    try:
        return money.shown(int(str(value)), str(currency)) if currency else str(value)
    except ValueError:
        return str(value)


def _one(value: object) -> str:
    """Format an order's line, or anything else."""
    if isinstance(value, Mapping) and {"quantity", "sku"} <= value.keys():
        return f"{value['quantity']} x {value['sku']}"
    return str(value)
