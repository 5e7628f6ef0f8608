"""An execution may wait for days and then meet new code, which still reads events of the last release."""

import importlib
from collections.abc import Mapping
from typing import Any

import pytest

from idempotency import BusinessError
from runtime.handler import UnexpectedFailure
from tests.contract.test_events import handler_of
from tests.contract.test_handlers import CONTEXT, break_down
from tests.kit.project import read_json
from tests.kit.released import kept
from tests.kit.template import FUNCTIONS
from user_import.errors import InvalidImport
from user_import.requests import SCHEMA, CountCsvFiles, UserCreate

EVENTS: Mapping[str, Any] = read_json(kept())
BY_HANDLER = {function.handler: function for function in FUNCTIONS.values()}


@pytest.mark.parametrize("name", EVENTS)
def test_event_of_the_last_release_is_read_unchanged(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    function = BY_HANDLER[str(handler_of(name))]
    module = importlib.import_module(function.module)
    # Errors after the event has been read are of another kind.
    break_down(module, monkeypatch)

    with pytest.raises(BusinessError if name.endswith("_invalid") else UnexpectedFailure):
        getattr(module, function.handler)(EVENTS[name], CONTEXT)


PLANNED, ROW = EVENTS["count_csv_files"], EVENTS["user_create"]


@pytest.mark.parametrize("number", [SCHEMA, SCHEMA - 1])
def test_handler_accepts_the_current_and_the_previous_schema(number: int) -> None:
    assert CountCsvFiles.parse({**PLANNED, "plan": {**PLANNED["plan"], "schema": number}}).plan.schema == number
    assert UserCreate.parse({**ROW, "schema": number}).schema == number


@pytest.mark.parametrize("number", [SCHEMA + 1, SCHEMA - 2])
def test_handler_rejects_any_other_schema(number: int) -> None:
    with pytest.raises(InvalidImport, match=r"^plan\.schema: "):
        CountCsvFiles.parse({**PLANNED, "plan": {**PLANNED["plan"], "schema": number}})
    with pytest.raises(InvalidImport, match=r"^schema: "):
        UserCreate.parse({**ROW, "schema": number})
