"""Every state by itself, through the TestState API: Retry, Catch, ResultSelector, ResultPath, Parameters and Choice.

Step Functions Local and moto have no TestState; the local stack and AWS have. https://docs.aws.amazon.com/step-functions/
latest/apireference/API_TestState.html
"""

import json
from typing import Any

import pytest
from botocore.exceptions import ClientError

from idempotency import BusinessError
from tests.kit.machine import MACHINES, is_lambda, retries
from tests.kit.project import leaves
from tests.kit.template import FUNCTIONS, arn_of
from tests.machines.conftest import STATE_ENGINES
from tests.machines.engines import Engine
from tests.machines.mocks import INPUTS
from tests.machines.state import BEFORE, STATES, TASKS, State, check

NOTICE = {"MessageId": "0f7c3c1e", "SequenceNumber": "1"}
RESULT = {"Payload": {"some": ["result", 1, None]}, "StatusCode": 200, "ExecutedVersion": "$LATEST"}
ROW_PLACE, ROW_FAILURE = "3:77:50", "PasswordTooWeak"
CAUGHT = {"Error": "StateConflict", "Cause": '{"errorMessage": "somebody changed the row"}'}

pytestmark = pytest.mark.parametrize("engine", STATE_ENGINES, indirect=True)
every_task = pytest.mark.parametrize("task", TASKS.values(), ids=TASKS)
LAMBDA_TASKS = {key: task for key, task in TASKS.items() if is_lambda(task.definition)}
every_lambda_task = pytest.mark.parametrize("task", LAMBDA_TASKS.values(), ids=LAMBDA_TASKS)
NOT_THERE = {"UnknownOperationException", "UnknownOperation", "InvalidAction"}


@pytest.fixture(autouse=True, scope="module")
def _has_test_state(engine: Engine) -> None:
    try:
        check(engine, State("OrderSaga", "Some", {"Type": "Pass", "End": True}))
    except ClientError as error:
        if error.response["Error"]["Code"] not in NOT_THERE:
            raise
        pytest.skip("this engine has no TestState")


def packages(machine: str) -> set[str]:
    """Whose errors a machine's functions can raise: their own, and those of what they may import."""
    functions = (
        FUNCTIONS[name]
        for value in MACHINES[machine].substitutions.values()
        if (name := str(arn_of(value))) in FUNCTIONS
    )
    return {"idempotency", "runtime"} | {function.module.partition(".")[0] for function in functions}


@every_task
def test_each_error_is_retried_as_often_as_its_retrier_says(engine: Engine, task: State) -> None:
    named = {error for retrier in task.definition["Retry"] for error in retrier["ErrorEquals"]}
    for error in {*named - {"States.ALL"}, "NeverHeardOf"}:
        most = retries(task.definition, error)
        counts = sorted({0, max(most - 1, 0), most})
        found = [check(engine, task.without("Catch"), error=error, retried=count)["status"] for count in counts]

        assert found == ["RETRIABLE" if count < most else "FAILED" for count in counts], error


@every_lambda_task
def test_no_business_error_is_retried(engine: Engine, task: State) -> None:
    for error in leaves(BusinessError, packages(task.machine)):
        assert check(engine, task.without("Catch"), error=error)["status"] == "FAILED", error


# MiniStack looks at Catch before Retry. The States Language: retriers first, catchers if they do not resolve the error.
@pytest.mark.untrue("ministack", reason="what a Catch matches is never RETRIABLE")
def test_retry_comes_before_catch(engine: Engine) -> None:
    found = {key: check(engine, task, error="Lambda.ServiceException")["status"] for key, task in TASKS.items()}

    assert found == dict.fromkeys(TASKS, "RETRIABLE")


@every_task
@pytest.mark.parametrize("error", ["StateConflict", "States.Timeout", "NeverHeardOf"])
def test_a_failure_is_added_to_the_input_and_goes_where_the_catch_says(engine: Engine, task: State, error: str) -> None:
    (catcher,) = task.definition["Catch"]
    found = check(engine, task, error=error, retried=retries(task.definition, error))

    assert (found["status"], found["nextState"], found["error"]) == ("CAUGHT_ERROR", catcher["Next"], error)
    assert json.loads(found["output"]) == BEFORE | {_field(catcher["ResultPath"]): {"Error": error, "Cause": "why"}}


@every_task
def test_a_result_is_selected_and_added_to_the_input(engine: Engine, task: State) -> None:
    found = check(engine, task, result=RESULT | NOTICE)
    selected = {name.removesuffix(".$"): (RESULT | NOTICE)[_field(path)] for name, path in _selector(task).items()}

    assert (found["status"], found.get("nextState")) == ("SUCCEEDED", task.definition.get("Next"))
    output = json.loads(found["output"])
    if "OutputPath" in task.definition:
        assert [output] == list(selected.values())
    else:
        assert output == BEFORE | {_field(task.definition["ResultPath"]): selected}


@every_task
def test_every_parameter_finds_what_it_asks_for(engine: Engine, task: State) -> None:
    found = check(engine, task, result=RESULT | NOTICE, level="DEBUG")["inspectionData"]["afterParameters"]

    assert json.loads(found).keys() == {name.removesuffix(".$") for name in task.definition["Parameters"]}
    if task.machine != "UserImport" and "Payload.$" in task.definition["Parameters"]:
        assert json.loads(found)["Payload"] == INPUTS[task.machine]


@pytest.mark.parametrize(
    ("outcome", "topic"), [({"result": {"undone": True}}, "RoutineTopic"), (CAUGHT, "AlertsTopic")]
)
def test_an_order_that_failed_is_routine_unless_it_was_not_undone(
    engine: Engine, outcome: dict[str, Any], topic: str
) -> None:
    notice, given = STATES["OrderSaga.sns:NotifyUpdateOrderFail"], BEFORE | {"update_order_status": outcome}
    found = check(engine, notice, given=given, result=NOTICE, level="DEBUG")["inspectionData"]["afterParameters"]

    assert json.loads(found)["TopicArn"].endswith(f":{topic}")
    assert json.loads(found)["Message"]["outcome"] == outcome


def _selector(task: State) -> dict[str, str]:
    return dict(task.definition["ResultSelector"])


def _field(path: str) -> str:
    """The field that `$.field` names."""
    return path.removeprefix("$.")


CHOICES: list[tuple[str, dict[str, Any], str]] = [
    ("UserImport.IsInstanceGiven", {"initialize": {"result": {"instance_id": "some"}}}, "UseInstance"),
    ("UserImport.IsInstanceGiven", {"initialize": {"result": {"instance_id": None}}}, "CreateInstance"),
    ("UserImport.IsInstanceReady", {"check_instance_existence": {"result": {"status": "READY"}}}, "CountCsvFiles"),
    ("UserImport.IsInstanceReady", {"check_instance_existence": {"result": {"status": "WAIT"}}}, "WaitForInstance"),
    ("UserImport.IsEveryOutcomeKnown", {"error": CAUGHT}, "ImportFailed"),
    ("UserImport.IsEveryOutcomeKnown", {}, "ImportSucceeded"),
    ("OrderRecovery.AllUndone", {}, "sns:NotifyRecovered"),
    ("OrderRecovery.AllUndone", {"release_inventory": CAUGHT}, "sns:NotifyRecoveryFail"),
    ("OrderRecovery.AllUndone", {"process_refund": CAUGHT}, "sns:NotifyRecoveryFail"),
    ("OrderRecovery.AllUndone", {"update_order_status": CAUGHT}, "sns:NotifyRecoveryFail"),
]


@pytest.mark.parametrize(("name", "given", "following"), CHOICES, ids=[f"{row[0]}-{row[2]}" for row in CHOICES])
def test_a_choice(engine: Engine, name: str, given: dict[str, Any], following: str) -> None:
    usual = {name: value for name, value in BEFORE.items() if name != "error"}
    found = check(engine, STATES[name], given=usual | given)

    assert (found["status"], found["nextState"]) == ("SUCCEEDED", following)
    assert json.loads(found["output"]) == usual | given


def test_every_way_out_of_a_choice_is_tried(engine: Engine) -> None:
    ways = {
        (name, way)
        for name, state in STATES.items()
        if state.definition["Type"] == "Choice"
        for way in [*(choice["Next"] for choice in state.definition["Choices"]), state.definition["Default"]]
    }
    assert ways == {(name, following) for name, _, following in CHOICES}


PASSES: dict[str, tuple[dict[str, Any], Any]] = {
    "UserImport.UseInstance": (
        {"initialize": {"result": {"instance_id": "i-7"}}},
        {"create_instance": {"result": {"instance_id": "i-7"}}, "initialize": {"result": {"instance_id": "i-7"}}},
    ),
    "UserImport.StartChecks": ({"a": 1}, {"a": 1, "check_instance_existence": {"result": {"checks": 0}}}),
    "UserImport.NoOutcomes": ({"error": CAUGHT}, {"error": CAUGHT, "outcomes": []}),
    "UserImport.RowFailed": ({"row": ROW_PLACE, "error": {"Error": ROW_FAILURE, "Cause": "x"}}, f"3:{ROW_FAILURE}:"),
    "UserImport.WaitForInstance": ({"a": 1}, {"a": 1}),
    "UserImport.ImportSucceeded": ({"register_result": {"result": {"rows": 2}}}, {"rows": 2}),
    "OrderSaga.OrderSucceeded": ({"a": 1}, {"a": 1}),
    "OrderRecovery.RecoverySucceeded": ({"a": 1}, {"a": 1}),
}


@pytest.mark.parametrize(
    "name", [name for name, s in STATES.items() if s.definition["Type"] in {"Pass", "Wait", "Succeed"}]
)
def test_what_a_state_without_a_task_makes_of_its_input(engine: Engine, name: str) -> None:
    given, output = PASSES[name]
    found = check(engine, STATES[name], given=given)

    assert (found["status"], found.get("nextState")) == ("SUCCEEDED", STATES[name].definition.get("Next"))
    assert json.loads(found["output"]) == output


@pytest.mark.parametrize("name", [name for name, state in STATES.items() if state.definition["Type"] == "Fail"])
def test_a_failure_is_the_first_error_or_the_machines_own(engine: Engine, name: str) -> None:
    found, state = check(engine, STATES[name], given={"error": CAUGHT}), STATES[name].definition
    told = json.loads(found["cause"]) if "CausePath" in state else {"Error": state["Error"]}

    assert (found["status"], found["error"]) == ("FAILED", told["Error"])
    assert told == CAUGHT if "CausePath" in state else found["cause"] == state["Cause"]


def test_every_machine_is_tried(engine: Engine) -> None:
    assert {state.machine for state in STATES.values()} == set(MACHINES)
