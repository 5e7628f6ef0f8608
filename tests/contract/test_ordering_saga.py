"""Rules for the tasks of the order saga. tests/machines proves its states and transitions, path by path."""

import json
from typing import Any

from ordering.definition import ORDER_SAGA
from tests.kit.deployed_stack import Stack
from tests.kit.each import each
from tests.kit.machine import MACHINES, is_lambda, retry_block
from tests.kit.template import FUNCTIONS, RESOURCES, TEMPLATE

SAGA = MACHINES["OrderSaga"]
STEPS = tuple(step.name for step in ORDER_SAGA.deployed)
NOTICES = tuple(name for name, state in SAGA.tasks() if not is_lambda(state))
ALERTS = tuple(name for name in NOTICES if name != "sns:NotifySuccess")
COMPENSATIONS = tuple(name for name, _ in SAGA.tasks() if name not in (*STEPS, *NOTICES))

every_step = each("name", STEPS)
every_compensation = each("name", COMPENSATIONS)
every_notice = each("name", NOTICES)
every_lambda = each("name", [*STEPS, *COMPENSATIONS])


def caught_by(name: str) -> str:
    (catcher,) = SAGA.states[name]["Catch"]
    return str(catcher["Next"])


def written_on_failure(name: str) -> str:
    (catcher,) = SAGA.states[name]["Catch"]
    return str(catcher["ResultPath"])


def retry_blocks(names: tuple[str, ...]) -> set[str]:
    return {retry_block(SAGA.states[name]) for name in names}


def attempts(name: str) -> int:
    return sum(retrier["MaxAttempts"] for retrier in SAGA.states[name]["Retry"])


@each("name", dict(SAGA.tasks()))
def test_only_catcher_catches_every_error(name: str) -> None:
    assert [catcher["ErrorEquals"] for catcher in SAGA.states[name]["Catch"]] == [["States.ALL"]]


@every_lambda
def test_function_gets_only_the_saga_input(name: str) -> None:
    state = SAGA.states[name]

    assert is_lambda(state)
    assert set(state["Parameters"]) == {"FunctionName", "Payload.$"}
    assert state["Parameters"]["Payload.$"] == "$$.Execution.Input"


@every_step
def test_saga_fails_with_the_error_of_its_step(name: str) -> None:
    assert written_on_failure(name) == "$.error"


@each("name", [*COMPENSATIONS, *NOTICES])
def test_nothing_after_a_step_hides_its_error(name: str) -> None:
    assert not written_on_failure(name).startswith("$.error")
    assert not SAGA.states[name]["ResultPath"].startswith("$.error")


def test_failed_order_ends_with_the_error_of_its_step() -> None:
    failed = SAGA.states["OrderFailed"]

    assert (failed["ErrorPath"], failed["CausePath"]) == ("$.error.Error", "States.JsonToString($.error)")


@every_notice
def test_notice_is_published_to_a_topic(name: str) -> None:
    assert SAGA.states[name]["Resource"] == "arn:${Partition}:states:::sns:publish"


@each("name", ALERTS)
def test_alert_names_the_order_even_if_its_input_is_malformed(name: str) -> None:
    assert SAGA.states[name]["Parameters"]["Message"]["order_id.$"] == "$$.Execution.Name"


def test_success_notice_names_the_order_from_the_input() -> None:
    parameters = SAGA.states["sns:NotifySuccess"]["Parameters"]

    assert parameters["TopicArn"] == "${OrderEventsTopicArn}"
    assert parameters["Message"]["order_id.$"] == "$$.Execution.Input.order_id"


@each("name", ALERTS)
def test_alert_includes_leftovers_of_the_compensation(name: str) -> None:
    parameters = SAGA.states[name]["Parameters"]
    compensations = {written_on_failure(state) for state in COMPENSATIONS if caught_by(state) == name}

    assert {parameters["Message"]["outcome.$"]} == compensations


@each("names", [STEPS, COMPENSATIONS, NOTICES], ids=["steps", "compensations", "notices"])
def test_retry_blocks_of_one_kind_are_identical(names: tuple[str, ...]) -> None:
    assert len(retry_blocks(names)) == 1


def test_compensation_is_retried_longer_than_a_step() -> None:
    assert min(map(attempts, COMPENSATIONS)) > max(map(attempts, STEPS))


def test_saga_is_a_standard_workflow_so_each_order_runs_once() -> None:
    assert SAGA.properties.get("Type", "STANDARD") == "STANDARD"


def test_step_record_outlives_the_saga() -> None:
    lifetime: dict[str, Any] = TEMPLATE["Parameters"]["RecordLifetimeDays"]

    assert lifetime["MinValue"] * 24 * 3600 > SAGA.definition["TimeoutSeconds"]


def test_sweep_skips_orders_whose_saga_may_still_run() -> None:
    variables = FUNCTIONS["SweepOrdersFunction"].properties["Environment"]["Variables"]

    assert int(variables["FINALIZE_AFTER_SECONDS"]) > SAGA.definition["TimeoutSeconds"]


def test_finalization_has_the_table_of_every_step() -> None:
    variables = Stack().resolve(FUNCTIONS["FinalizeOrderFunction"].properties["Environment"]["Variables"])

    assert json.loads(variables["STEP_TABLES"]) == {step.table: step.table for step in ORDER_SAGA.deployed}


def test_every_step_and_compensation_has_its_function() -> None:
    assert {f"{name}Function" for name in (*STEPS, *COMPENSATIONS)} <= set(RESOURCES)
