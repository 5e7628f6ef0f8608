"""The test cases for Step Functions Local are valid, and together cover every state and every transition."""

from collections import Counter

from tests.kit.each import each
from tests.kit.machine import MACHINES
from tests.machines.mocks import CASES, CONFIG, INPUTS, MOCKED, Case, every_state, responses
from tests.machines.walk import inner_states, transitions, walk

# The states in these Maps and Parallels catch every error.
_UNREACHED = {
    "ImportZip": {("trigger_csv_jobs", "Catch[0]")},
    "Task": {("map_state", "Catch[0]")},
    "AccountSetup": {("Undo Account And Card", "Catch[0]")},
    "AccountRecovery": {("Undo Account And Card", "Catch[0]")},
}

every_case = each("case", CASES.values(), ids=CASES)
every_machine = each("machine", MOCKED)


def cases(machine: str) -> list[Case]:
    return [case for case in CASES.values() if case.machine == machine]


def paths(machine: str, state: str, before: tuple[str, ...] = ()) -> int:
    """The number of paths from a state to an end of a machine without a Map, counting each failure and choice."""
    here = every_state(machine)[state]
    assert state not in before
    ways = [way["Next"] for way in [*here.get("Catch", []), here] if "Next" in way]
    return sum(paths(machine, way, (*before, state)) for way in ways) or 1


def test_file_has_the_format_of_step_functions_local() -> None:
    assert set(CONFIG) == {"StateMachines", "MockedResponses"}
    assert set(CONFIG["StateMachines"]) == set(MOCKED) == set(INPUTS)
    assert all(set(about) == {"TestCases"} for about in CONFIG["StateMachines"].values())


@each("name", CONFIG["MockedResponses"])
def test_response_is_a_return_or_a_throw_for_each_attempt(name: str) -> None:
    for response in responses(name):
        ((kind, content),) = response.items()
        assert kind in {"Return", "Throw"}
        assert kind == "Return" or (set(content) == {"Error", "Cause"} and all(map(str, content.values())))


def test_every_response_is_used() -> None:
    assert {name for case in CASES.values() for name in case.mocks.values()} == set(CONFIG["MockedResponses"])


@every_case
def test_every_task_on_the_path_is_mocked_and_no_other(case: Case) -> None:
    passed = {name for name in case.expected.states if every_state(case.machine)[name]["Type"] == "Task"}

    assert set(case.mocks) == passed


@every_case
def test_definition_and_mocks_allow_the_path(case: Case) -> None:
    assert case.expected.states[0] == MACHINES[case.machine].definition["StartAt"]
    assert [name for name, _ in walk(case) if name not in inner_states(case.machine)][-1] == case.expected.states[-1]


@every_case
def test_final_state_decides_the_status(case: Case) -> None:
    last = every_state(case.machine)[case.expected.states[-1]]["Type"]

    assert (last, case.expected.status) in {("Succeed", "SUCCEEDED"), ("Fail", "FAILED")}
    assert (case.expected.error is not None) == (case.expected.status == "FAILED")


@every_machine
def test_every_state_and_transition_is_covered(machine: str) -> None:
    assert transitions(machine) - {step for case in cases(machine) for step in walk(case)} == _UNREACHED.get(
        machine, set()
    )


@every_machine
def test_no_two_cases_are_the_same(machine: str) -> None:
    mocks = Counter(tuple(sorted(case.mocks.items())) for case in cases(machine))

    assert [mocked for mocked, number in mocks.items() if number > 1] == []


def test_every_path_of_the_saga_has_a_case() -> None:
    assert len({tuple(walk(case)) for case in cases("OrderSaga")}) == paths("OrderSaga", "ProcessOrder")


def test_every_path_of_the_recovery_has_a_case() -> None:
    """Three compensations that succeed or fail, and a notice that is sent or lost."""
    assert len({tuple(walk(case)) for case in cases("OrderRecovery")}) == 2**4
