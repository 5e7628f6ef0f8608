"""The business key of an execution. Most executions are named after it; commands and tasks after a digest."""

import re
from typing import Any

from entities.command import Attempt, Key
from idempotency.payloads import read_json
from tasks.state import TaskKey

from .commands import name_of

DIGESTED = ("Command", "Task")
"""Machines whose executions are named by a digest."""


def names(text: str) -> list[str]:
    """Return substrings that appear in the names of executions with a business key, or a part of one.

    text: a part of a name; `TENANT_CODE/SK` or `TENANT_CODE/SK@VERSION` of a command; `TENANT_CODE/TASK_ID`.
    """
    tenant, _, rest = text.partition("/")
    if not (tenant and rest):
        return [text]
    sk, _, version = rest.rpartition("@") if "@" in rest else (rest, "", "")
    command = Attempt(Key(f"TENANT#{tenant}", sk), int(version) if re.fullmatch("[0-9]{1,10}", version) else 0, 1).name
    task = TaskKey(tenant, rest).execution(1)
    return [text, command.rpartition("-")[0] + "-" if version else _digest(command), _digest(task)]


def of(machine: str, name: str, document: str) -> str:
    """Return the business key of an execution. document: its input, as JSON text."""
    given = _parsed(document)
    try:
        if machine == "Command":
            return f"{name_of(Key(given['pk'], given['sk']))}@{given['version']}"
        if machine == "Task":
            return f"{given['tenant_code']}/{given['task_id']}"
    except (KeyError, TypeError, AttributeError):
        return name
    return name


def _digest(name: str) -> str:
    return name.partition("-")[0]


def _parsed(document: str) -> Any:
    try:
        return read_json(document)
    except ValueError:
        return None
