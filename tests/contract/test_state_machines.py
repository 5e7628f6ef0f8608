"""Rules for every state machine."""

import math
import re
from functools import cache
from importlib import import_module
from pathlib import Path

from idempotency import BusinessError
from stepwise.deployment.definitions import formatted
from tests.kit.deployed_stack import Stack
from tests.kit.each import each
from tests.kit.iam import HOLDING_TOKENS
from tests.kit.machine import (
    MACHINES,
    THROTTLED,
    Machine,
    State,
    is_callback,
    is_lambda,
    max_seconds,
    pauses,
    retries,
)
from tests.kit.project import ROOT, exceptions, leaves, transient_errors
from tests.kit.template import FUNCTIONS, TEMPLATE, Function, arn_of, of_type

SAGA = MACHINES["OrderSaga"]

# https://docs.aws.amazon.com/step-functions/latest/dg/sfn-best-practices.html asks for the first three.
TRANSIENT_LAMBDA_ERRORS = {
    "Lambda.ServiceException",
    "Lambda.AWSLambdaException",
    "Lambda.SdkClientException",
    THROTTLED,
    "Lambda.Unknown",
    "Runtime.OutOfMemory",
    "States.Timeout",
}
# No state of a command has a lease.
OF_LEASES = {"AlreadyInProgress", "LeaseLost"}
COMMAND_INPUT = ("pk", "sk", "version", "attempt")
TASK_FIELDS = [
    "Type",
    "Comment",
    "Resource",
    "Parameters",
    "ResultSelector",
    "ResultPath",
    "OutputPath",
    "TimeoutSeconds",
    "Retry",
    "Catch",
    "Next",
    "End",
]
# All that a state passes of `$$` to a function of several states (runtime.states).
STATE_CONTEXT = {
    "execution.$": "$$.Execution.Name",
    "started_at.$": "$$.Execution.StartTime",
    "state.$": "$$.State.Name",
    "retry_count.$": "$$.State.RetryCount",
}
INIT_SECONDS = 10
# Seconds; see Outages in docs/scale.md.
THROTTLED_SECONDS = 360
# A version waits until its predecessors have finished.
WITHOUT_TIMEOUT = {"Command"}
# Notices that do not always go to the alerts, and their possible topics.
NOT_FOR_A_PERSON = {
    "sns:NotifySuccess": {"OrderEvents"},
    "sns:NotifyUpdateOrderFail": {"Alerts", "Routine"},
    "sns:NotifyRecovered": {"Routine"},
}

TASKS = {f"{machine.name}.{name}": (name, state) for machine in MACHINES.values() for name, state in machine.tasks()}
LAMBDA_TASKS = {key: (name, state) for key, (name, state) in TASKS.items() if is_lambda(state)}
# States whose function has another name, because the state's name is not clear outside its machine.
FUNCTIONS_OF = {
    **{f"Flag {check}": ["FlagApplicationFunction"] for check in ("Identity", "Address", "Fraud Model")},
    "Wait For Review": ["RequestApprovalFunction"],
    "finish": ["FinishCommandFunction", "FinishTaskFunction"],
    "iterator": ["RunTaskItemFunction"],
    "start": ["StartTaskFunction"],
    "unzip": ["UnzipFunction"],
}
# The state that waits for an approval may have any name.
FOR_ANY_STATE = {"${RequestApprovalFunctionArn}": "RequestApprovalFunction"}
SAGA_FUNCTIONS = set(SAGA.substitutions)
# The errors of a saga's functions: their own, and those of packages that they may import.
SAGA_PACKAGES = {"idempotency", "runtime"} | {
    FUNCTIONS[name].module.partition(".")[0] for name in map(arn_of, SAGA.substitutions.values()) if name in FUNCTIONS
}
SAGA_TASKS = {
    key: (name, state)
    for key, (name, state) in LAMBDA_TASKS.items()
    if state["Parameters"]["FunctionName"].strip("${}") in SAGA_FUNCTIONS
}

every_machine = each("machine", MACHINES.values(), ids=MACHINES)
every_task = each(("name", "state"), TASKS.values(), ids=TASKS)
every_lambda_task = each(("name", "state"), LAMBDA_TASKS.values(), ids=LAMBDA_TASKS)
every_command_task = each("state", [state for _, state in MACHINES["Command"].tasks()])
every_saga_task = each(("name", "state"), SAGA_TASKS.values(), ids=SAGA_TASKS)


@cache
def registered() -> dict[str, set[str]]:
    """The states with handlers of a shared function, by the function's logical id."""
    made = {name: getattr(import_module(one.module), one.handler) for name, one in FUNCTIONS.items()}
    return {name: set(handler.states) for name, handler in made.items() if hasattr(handler, "states")}


def called(function: str) -> dict[str, State]:
    """The states that call a function."""
    return {name: state for name, state in LAMBDA_TASKS.values() if f"${{{function}Arn}}" in str(state["Parameters"])}


def function_of(name: str, state: State) -> Function:
    """The function that a state calls, among those that may have the state's name."""
    if waits_for := FOR_ANY_STATE.get(state["Parameters"]["FunctionName"]):
        return FUNCTIONS[waits_for]
    several = [function for function, states in registered().items() if name in states]
    named = several + FUNCTIONS_OF.get(
        name, [f"{name.title().replace('_', '') if '_' in name else name.replace(' ', '')}Function"]
    )
    return FUNCTIONS[next((one for one in named if f"${{{one}Arn}}" == state["Parameters"]["FunctionName"]), named[0])]


def test_every_definition_is_deployed() -> None:
    assert {machine.path for machine in MACHINES.values()} == set((ROOT / "statemachine").glob("*"))


@every_machine
def test_definition_is_formatted(machine: Machine) -> None:
    text = machine.path.read_text()

    assert formatted(text) == text, "run 'make asl'"


@every_machine
def test_placeholders_match_the_substitutions(machine: Machine) -> None:
    assert set(re.findall(r"\$\{(\w+)\}", machine.path.read_text())) == set(machine.substitutions)


@every_machine
def test_substitution_is_named_after_its_resource(machine: Machine) -> None:
    for key, value in machine.substitutions.items():
        bucket = key in of_type("AWS::S3::Bucket") and value == {"Ref": key}
        parameter = key in TEMPLATE["Parameters"] and value == {"Ref": key}
        partition = (key, value) == ("Partition", {"Ref": "AWS::Partition"})
        assert key == f"{arn_of(value)}Arn" or bucket or parameter or partition


@each(
    "path",
    [ROOT / "template.yaml", *(ROOT / "stacks").iterdir(), *(ROOT / "statemachine").iterdir()],
    ids=lambda path: path.name,
)
def test_no_arn_is_bound_to_one_partition(path: Path) -> None:
    """In aws-cn and aws-us-gov a resource of `arn:aws:` fails as States.Runtime, which Catch does not match."""
    assert re.findall(r"arn:aws\S*", path.read_text()) == []


@every_machine
def test_machine_has_a_comment_and_a_timeout(machine: Machine) -> None:
    assert machine.definition["Comment"]
    assert (machine.name in WITHOUT_TIMEOUT) == ("TimeoutSeconds" not in machine.definition)
    assert machine.definition.get("TimeoutSeconds", math.inf) > 0


@every_machine
def test_machine_logs_to_its_own_group_without_its_data(machine: Machine) -> None:
    logging = machine.properties["LoggingConfiguration"]
    (destination,) = logging["Destinations"]

    assert logging["Level"] == {"Ref": "StateMachineLogLevel"}
    assert logging["IncludeExecutionData"] is False
    assert arn_of(destination["CloudWatchLogsLogGroup"]["LogGroupArn"]) == f"{machine.name}LogGroup"


@each("machine", sorted(HOLDING_TOKENS))
def test_machine_with_payment_tokens_uses_the_given_key(machine: str) -> None:
    """Step Functions keeps a machine's key if the template no longer mentions it."""
    configured = MACHINES[machine].properties["EncryptionConfiguration"]
    key = "arn:aws:kms:us-east-1:000000000000:key/k-1"

    assert Stack().resolve(configured) == {"Type": "AWS_OWNED_KEY"}
    assert Stack(parameters={"StateMachineKeyArn": key}).resolve(configured) == {
        "Type": "CUSTOMER_MANAGED_KMS_KEY",
        "KmsKeyId": key,
        "KmsDataKeyReusePeriodSeconds": 300,
    }


@every_machine
def test_every_retry_fits_into_the_machine_timeout(machine: Machine) -> None:
    seconds = max_seconds(machine)

    assert seconds <= machine.definition.get("TimeoutSeconds", math.inf) or (
        math.isinf(seconds) and machine is not SAGA
    )


@every_machine
def test_every_state_is_reachable(machine: Machine) -> None:
    named = set(re.findall(r'"(?:Next|StartAt|Default)": "([^"]+)"', machine.path.read_text()))

    assert set(machine.states) <= named


@every_task
def test_task_can_fail_cleanly(name: str, state: State) -> None:
    assert {"Comment", "TimeoutSeconds", "Retry", "Catch"} <= set(state)
    assert state["Comment"].endswith(".")


@every_task
def test_tasks_list_their_fields_in_one_order(name: str, state: State) -> None:
    assert list(state) == [field for field in TASK_FIELDS if field in state]


@every_task
def test_task_catches_everything_last_and_keeps_the_input(name: str, state: State) -> None:
    last = state["Catch"][-1]

    assert last["ErrorEquals"] == ["States.ALL"]
    assert last["ResultPath"].startswith("$.")


@every_task
def test_task_adds_to_its_input_and_never_replaces_it(name: str, state: State) -> None:
    assert state["ResultPath"] is None or state["ResultPath"].startswith("$.")


@every_task
def test_retries_are_capped_and_jittered(name: str, state: State) -> None:
    for retrier in (retrier for retrier in state["Retry"] if retrier["MaxAttempts"]):
        assert retrier["MaxDelaySeconds"] >= retrier["IntervalSeconds"]
        assert retrier["JitterStrategy"] == "FULL"
        assert retrier["BackoffRate"] > 1


@every_task
def test_every_named_custom_error_exists(name: str, state: State) -> None:
    clauses = [*state["Retry"], *state["Catch"]]
    named = {error for clause in clauses for error in clause["ErrorEquals"] if "." not in error}

    assert named <= set(exceptions())


@every_lambda_task
def test_no_business_error_is_retried(name: str, state: State) -> None:
    own = function_of(name, state).module.partition(".")[0]
    errors = leaves(BusinessError, SAGA_PACKAGES | {own})

    assert errors
    assert {error for error in errors if retries(state, error)} == set()


@every_lambda_task
def test_state_calls_the_function_with_its_name(name: str, state: State) -> None:
    assert state["Parameters"]["FunctionName"] == f"${{{function_of(name, state).name}Arn}}"


def test_states_and_handlers_of_shared_functions_match() -> None:
    assert {function: set(called(function)) for function in registered()} == registered()


def test_state_handler_gets_its_input_and_four_context_fields() -> None:
    payloads = [state["Parameters"]["Payload"] for function in registered() for state in called(function).values()]

    assert [given for given in payloads if given.get("context") != STATE_CONTEXT] == []
    assert {name for given in payloads for name in given} <= {"input", "input.$", "context"}


@every_lambda_task
def test_task_timeout_exceeds_the_function_timeout(name: str, state: State) -> None:
    assert state["TimeoutSeconds"] > function_of(name, state).timeout + INIT_SECONDS


@every_lambda_task
def test_lambda_service_errors_are_retried(name: str, state: State) -> None:
    """A callback's timeout is not Lambda's: it means that nobody has answered for days."""
    own = {"States.Timeout"} if is_callback(state) else set()

    assert {error for error in TRANSIENT_LAMBDA_ERRORS if not retries(state, error)} == own


@every_lambda_task
def test_throttled_invocation_has_its_own_longest_retrier(name: str, state: State) -> None:
    """Lambda has certainly not run it, so another attempt costs only time."""
    (own,) = (retrier for retrier in state["Retry"] if THROTTLED in retrier["ErrorEquals"])

    assert own["ErrorEquals"] == [THROTTLED]
    assert pauses(own) > max(pauses(retrier) for retrier in state["Retry"] if retrier is not own)
    assert pauses(own) >= THROTTLED_SECONDS


@every_saga_task
def test_every_transient_error_of_a_saga_function_is_retried(name: str, state: State) -> None:
    function = function_of(name, state)
    errors = transient_errors(function.module, function.handler)

    assert {error for error in errors if not retries(state, error)} == set()


@every_lambda_task
def test_every_transient_error_of_a_command_function_is_retried(name: str, state: State) -> None:
    own = function_of(name, state)
    errors = transient_errors(own.module, own.handler) - OF_LEASES

    assert own.module.partition(".")[0] != "commands" or {one for one in errors if not retries(state, one)} == set()


@every_command_task
def test_stale_execution_sends_no_notice(state: State) -> None:
    ways = {error: one["Next"] for one in reversed(state["Catch"]) for error in one["ErrorEquals"]}

    assert not is_lambda(state) or ways.get("StaleCommand", ways["States.ALL"]) in {"fail", "sync_data_failed"}


def test_command_passes_only_its_names() -> None:
    """Neither the functions nor the notice get attributes: they stay on the command's row."""
    for _, state in MACHINES["Command"].tasks():
        given = state["Parameters"].get("Payload") or state["Parameters"]["Message"]
        paths = {name.removesuffix(".$"): path for name, path in given.items()}

        assert paths.items() >= {name: f"$$.Execution.Input.{name}" for name in COMMAND_INPUT}.items()
        assert paths.keys() <= {*COMMAND_INPUT, "execution", "redrive_count", "token", "target", "state", "error"}


def test_notice_goes_to_its_audience() -> None:
    """NotifyUpdateOrderFail chooses by the outcome; tests/machines and tests/integration test both."""
    tasks = (task for machine in MACHINES.values() for task in machine.tasks())
    notices = {name: state for name, state in tasks if ":sns:" in state["Resource"]}
    topics = {
        name: set(re.findall(r"\$\{(\w+)TopicArn\}", str(state["Parameters"]))) for name, state in notices.items()
    }

    assert topics == {name: NOT_FOR_A_PERSON.get(name, {"Alerts"}) for name in notices}
    assert NOT_FOR_A_PERSON.keys() <= notices.keys()


def test_mail_subscription_has_no_filter() -> None:
    """A filter policy matches no message without attributes, and alarms have none."""
    all_of_them = of_type("AWS::SNS::Subscription")
    subscriptions = {name: body for name, body in all_of_them.items() if body["Protocol"] == "email"}

    assert {name: arn_of(body["TopicArn"]) for name, body in subscriptions.items()} == {
        "AlertEmailSubscription": "AlertsTopic"
    }
    assert [name for name, body in subscriptions.items() if "FilterPolicy" in body] == []
