"""The page of what an execution is about: its order, key, task, import or application."""

import json
from typing import Any

from stepwise.console.rendering import quote_path


def subject(machine: str, name: str, document: str) -> tuple[str, str] | None:
    """What it is, and the address of its page; None if it has none. document: the execution's input, as JSON text."""
    try:
        return _subject(machine, name, json.loads(document))
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _subject(machine: str, name: str, given: Any) -> tuple[str, str] | None:
    match machine:
        case "OrderSaga" | "OrderRecovery":
            return "Order", _address("orders", given["order_id"])
        case "AccountOpening" | "AccountSetup":
            return "Application", _address("applications", name)
        case "Command":
            return "Key", _address("commands", given["pk"].removeprefix("TENANT#"), given["sk"])
        case "Task":
            return "Task", _address("tasks", given["tenant_code"], given["task_id"])
        case "ImportCsv" | "ImportZip":
            return "Import", _address("imports", given["tenant_code"], name)
    return None


def _address(*parts: str) -> str:
    return "/" + "/".join(map(quote_path, parts))
