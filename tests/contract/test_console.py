"""The console's description of the deployed functions."""

import pytest

from stepwise.console.runs.related import STARTERS
from tests.kit.machine import MACHINES
from tests.kit.template import FUNCTIONS, Function, allowed, arn_of

_OF_EVENTS = {"DynamoDB": "stream", "SQS": "queue"}
_OF_NAMES = {
    "Sweep": "sweep",
    "Finalize": "finalization",
    "Retry": "retry",
    "HandleRequest": "POST",
    "StartUserImport": "upload",
}
_WORDS = {*_OF_EVENTS.values(), *_OF_NAMES.values()}


def _word(function: Function) -> str:
    """The console's word for a function that starts executions."""
    events = {event["Type"] for event in function.properties.get("Events", {}).values()}
    by_events = [word for kind, word in _OF_EVENTS.items() if kind in events]
    by_name = [word for name, word in _OF_NAMES.items() if function.name.startswith(name)]
    return [*by_events, *by_name][0]


def test_every_machine_has_a_starter() -> None:
    assert set(STARTERS) == set(MACHINES)


@pytest.mark.parametrize("machine", STARTERS)
def test_starter_lists_the_functions_that_may_start_the_machine(machine: str) -> None:
    may = {
        _word(function)
        for function in FUNCTIONS.values()
        if function.role and machine in map(arn_of, allowed(function.role, "states:StartExecution"))
    }

    assert {word for word in _WORDS if word in STARTERS[machine]} == may
