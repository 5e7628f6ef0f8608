"""Rows, as written."""

from typing import Any

from tests.faults.seams import Document


def plain(row: Document) -> dict[str, Any]:
    """Deserialize a row: boto3's deserializer would take a tenth of a schedule."""
    return {name: _value(value) for name, value in row.items()}


def _value(value: Document) -> Any:
    ((kind, held),) = value.items()
    match kind:
        case "N":
            return int(held)
        case "L":
            return [_value(one) for one in held]
        case "M":
            return plain(held)
        case "NULL":
            return None
    return held
