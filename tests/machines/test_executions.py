"""Every path of every state machine with mocked tasks; an engine executes Retry, Catch, Choice and Map."""

import json
from collections.abc import Mapping
from typing import Any

import pytest

from tests.kit.machine import MACHINES
from tests.kit.metric_filters import LEVELS, logged, matches
from tests.kit.template import of_type
from tests.machines.engines import Engine
from tests.machines.execution import Running, create
from tests.machines.mocks import CASES, Case
from tests.machines.walk import inner_states

# The States Language has States.IntrinsicFailure for a failed intrinsic function. moto raises States.Runtime, which its
# States.ALL catches, unlike AWS's.
_INTRINSIC = [pytest.mark.untrue("moto", reason="an intrinsic function that fails is States.Runtime")]
_MARKS = {"UserImport.MapFails": _INTRINSIC, "UserImport.MapFailsAndNoticeIsLost": _INTRINSIC}
FAILING = [
    pytest.param(case, id=name, marks=_MARKS.get(name, [])) for name, case in CASES.items() if case.expected.error
]
PATTERNS = {
    name: one["FilterPattern"]
    for name, machine in MACHINES.items()
    for one in of_type("AWS::Logs::MetricFilter").values()
    if one["LogGroupName"] == {"Ref": machine.log_group}
}
"""Return the filter pattern of each machine with a metric filter on its log."""
_UNNAMED = [pytest.mark.untrue("moto", reason="a failed task's event lacks resourceType")]


def failed_notices(case: Case) -> int:
    """Return the number of failed attempts to publish."""
    notices = {name for name, state in MACHINES[case.machine].tasks() if ":sns:" in state["Resource"]}
    scripted = case.script().answers.items()
    return sum("Throw" in answer for state, answers in scripted if state in notices for answer in answers)


NOTIFYING = [
    pytest.param(case, id=name, marks=_UNNAMED if failed_notices(case) else [])
    for name, case in CASES.items()
    if case.machine in PATTERNS
]


@pytest.fixture(scope="module")
def running(engine: Engine) -> Running:
    return create(engine)


@pytest.fixture(scope="module")
def started(running: Running) -> dict[str, str]:
    """All cases concurrently, so that an engine that does not shorten waits takes only as long as the slowest case."""
    return {name: running.start(case) for name, case in CASES.items()}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_case_takes_its_path(case: Case, running: Running, started: Mapping[str, str]) -> None:
    ran = running.result(started[case.id])

    assert _in_order(ran.states, case) == _in_order(case.expected.states, case)
    assert ran.status == case.expected.status
    assert _part(ran.output, case.expected.output)
    # A task of a branch that another branch's failure cancels may fail, too.
    failures = [state for state in ran.failures if state not in case.expected.cancelled]
    assert len(failures) == sum("Throw" in answer for answers in case.script().answers.values() for answer in answers)


@pytest.mark.parametrize("case", FAILING)
def test_failed_execution_reports_the_first_error_in_full(
    case: Case, running: Running, started: Mapping[str, str]
) -> None:
    ran = running.result(started[case.id])
    state = MACHINES[case.machine].states[case.expected.states[-1]]

    assert ran.error == case.expected.error
    assert ran.cause == state["Cause"] if "Cause" in state else json.loads(ran.cause)["Error"] == case.expected.error


@pytest.mark.parametrize("case", NOTIFYING)
def test_notice_alarm_counts_failed_notices_except_at_level_fatal(
    case: Case, running: Running, started: Mapping[str, str]
) -> None:
    """FATAL logs only the ends of executions, and a lost notice fails no execution."""
    failed = failed_notices(case)
    running.result(started[case.id])
    history = running.events(started[case.id])

    counted = {level: sum(matches(PATTERNS[case.machine], line) for line in logged(history, level)) for level in LEVELS}
    assert counted == {"ALL": failed, "ERROR": failed, "FATAL": 0}


def _in_order(states: list[str], case: Case) -> list[str]:
    """The states, with those of concurrent iterations and branches sorted, and without those that may be cancelled."""
    entered, inner = [name for name in states if name not in case.expected.cancelled], inner_states(case.machine)
    within = sorted(name for name in entered if name in inner)
    return [within.pop(0) if name in inner else name for name in entered]


def _part(found: Any, expected: Any) -> bool:
    """Returns True if an object has the fields of another one."""
    if isinstance(expected, Mapping) and expected:
        return all(name in found and _part(found[name], value) for name, value in expected.items())
    return not expected or bool(found == expected)
