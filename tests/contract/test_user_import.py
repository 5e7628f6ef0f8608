"""The contract of the user import: its states, their data, and the limits of its Map."""

import json
import re
import time
from fnmatch import fnmatchcase
from typing import Any

import pytest

from idempotency import BusinessError
from runtime.clients import single_try_client
from tests.contract.test_state_machines import function_of
from tests.kit.deployed_stack import Stack
from tests.kit.each import each
from tests.kit.iam import granted
from tests.kit.machine import MACHINES, is_lambda, retries, retry_block
from tests.kit.project import leaves, transient_errors
from tests.kit.template import FUNCTIONS, TEMPLATE, allowed, of_type
from user_import.connect import backoff_until
from user_import.creation import ROW_TAG
from user_import.csv_file import MAX_ROW, RowPointer
from user_import.errors import ConnectError, InvalidRow
from user_import.results import NOT_REGISTERED, PASSWORD_NOT_SET, SENTENCES, Outcome, ResultKey
from user_import.retry import Kept
from user_import.user import User

IMPORT = MACHINES["UserImport"]
MAP = IMPORT.states["CreateUsers"]
ROW_STATES = MAP["ItemProcessor"]["States"]
PACKAGES = {"user_import", "idempotency", "runtime"}
# state: the next state, the next state after a failure
FLOW = {
    "Initialize": ("IsInstanceGiven", "sns:NotifyImportFail"),
    "CreateInstance": ("StartChecks", "sns:NotifyImportFail"),
    "CheckInstanceExistence": ("IsInstanceReady", "sns:NotifyImportFail"),
    "CountCsvFiles": ("ResultCsvFileCreate", "sns:NotifyImportFail"),
    "ResultCsvFileCreate": ("CreateUsers", "sns:NotifyImportFail"),
    "CreateUsers": ("RegisterResult", "NoOutcomes"),
    "RegisterResult": ("sns:NotifyImportResult", "sns:NotifyImportFail"),
    "sns:NotifyImportResult": ("IsEveryOutcomeKnown", "IsEveryOutcomeKnown"),
    "sns:NotifyImportFail": ("ImportFailed", "ImportFailed"),
}
TASKS = dict(IMPORT.tasks())
LAMBDA_TASKS = {name: state for name, state in TASKS.items() if is_lambda(state)}

# https://docs.aws.amazon.com/step-functions/latest/dg/service-quotas.html
MAX_EVENTS, MAX_BYTES = 25_000, 256 * 1024
# A failed row: iteration started and succeeded, task entered, scheduled, started, failed, left; Pass entered, left.
EVENTS_OF_A_FAILED_ROW, EVENTS_OF_A_RETRY = 9, 3
# All other states, each task at its first try, and 60 checks of an instance: task 5, Choice 2, Wait 2.
OTHER_EVENTS = 60 * 9 + 100
# The plan with its four keys, column names, 40 profiles of 127 letters with ids, the result's key and ids.
OTHER_BYTES = 6 * 1024 + 40 * 180
# Connect's rate for CreateUser (docs/user-import.md). Retries of throttled calls may double the time.
USERS_PER_SECOND, MARGIN = 2, 2

LARGEST_PARAMETER = TEMPLATE["Parameters"]["MaxImportRows"]


class Context:
    """The Lambda context of a new invocation."""

    def __init__(self, seconds: int) -> None:
        self._seconds = seconds

    def get_remaining_time_in_millis(self) -> int:
        return self._seconds * 1000


@each(("name", "ways"), FLOW.items())
def test_states_follow_each_other_as_designed(name: str, ways: tuple[str, str]) -> None:
    state = IMPORT.states[name]

    assert (state["Next"], state["Catch"][-1]["Next"]) == ways


def test_choices_and_final_states() -> None:
    assert IMPORT.definition["StartAt"] == "Initialize"
    assert IMPORT.states["IsInstanceGiven"]["Choices"][0]["Next"] == "UseInstance"
    assert IMPORT.states["IsInstanceGiven"]["Default"] == "CreateInstance"
    assert IMPORT.states["UseInstance"]["Next"] == "StartChecks"
    assert IMPORT.states["IsInstanceReady"]["Default"] == "WaitForInstance"
    assert IMPORT.states["WaitForInstance"]["Next"] == "CheckInstanceExistence"
    assert IMPORT.states["NoOutcomes"]["Next"] == "RegisterResult"
    assert IMPORT.states["IsEveryOutcomeKnown"]["Choices"] == [
        {"Variable": "$.error", "IsPresent": True, "Next": "ImportFailed"}
    ]


def test_each_row_is_an_iteration_that_never_fails_the_map() -> None:
    assert MAP["ItemsPath"] == "$.count_csv_files.result.rows"
    assert "instance_id.$" in MAP["ItemSelector"]
    assert ROW_STATES["UserCreate"]["Catch"][-1] == {
        "ErrorEquals": ["States.ALL"],
        "ResultPath": "$.error",
        "Next": "RowFailed",
    }
    assert ROW_STATES["RowFailed"]["Type"] == "Pass"


def test_failed_row_keeps_only_its_number_and_error_name() -> None:
    (kept,) = ROW_STATES["RowFailed"]["Parameters"].values()

    assert "$.error.Error" in kept
    assert "Cause" not in json.dumps(ROW_STATES["RowFailed"]["Parameters"])
    assert ROW_STATES["RowFailed"]["OutputPath"] == "$.outcome"
    assert ROW_STATES["UserCreate"]["OutputPath"] == "$.user_create.outcome"


@each("name", sorted(set(LAMBDA_TASKS) - {"Initialize"}))
def test_function_logs_its_import(name: str) -> None:
    told = MAP["ItemSelector"] if name == "UserCreate" else LAMBDA_TASKS[name]["Parameters"]["Payload"]

    assert told["import_id.$"] == "$$.Execution.Name"


def test_no_state_names_a_personal_field() -> None:
    text = IMPORT.path.read_text().lower()
    fields = set(User.__dataclass_fields__) - {"profiles"}

    assert [field for field in fields if f"{field}." in text or f'"{field}' in text] == []


@each("name", LAMBDA_TASKS)
def test_only_transient_errors_are_retried(name: str) -> None:
    state = LAMBDA_TASKS[name]
    function = function_of(name, state)
    transient = transient_errors(function.module, function.handler)

    assert {error for error in transient if not retries(state, error)} == set()
    assert {error for error in leaves(BusinessError, PACKAGES) if retries(state, error)} == set()
    assert retries(state, "UnexpectedFailure") == 0


def test_row_has_few_retries_and_the_result_many() -> None:
    row, result = retries(TASKS["UserCreate"], "States.Timeout"), retries(TASKS["RegisterResult"], "States.Timeout")

    assert row < retries(TASKS["CountCsvFiles"], "States.Timeout") < result
    blocks = {name: retry_block(state) for name, state in LAMBDA_TASKS.items()}
    assert blocks["Initialize"] == blocks["CountCsvFiles"] == blocks["ResultCsvFileCreate"]


def codes() -> set[str]:
    """The possible error names of a failed row."""
    ours = {cls.__name__ for base in (InvalidRow, ConnectError) for cls in base.__subclasses__()}
    functions = [function_of(name, state) for name, state in LAMBDA_TASKS.items()]
    transient = set().union(*(transient_errors(one.module, one.handler) for one in functions))
    return ours | transient | {"UnexpectedFailure", "NoImportFile", "WrongEncoding"}


def test_every_row_failure_has_a_sentence() -> None:
    assert codes() - set(SENTENCES) == set()


def test_every_retried_error_has_a_sentence_for_when_it_persists() -> None:
    retried = {error for retrier in TASKS["UserCreate"]["Retry"] for error in retrier["ErrorEquals"]}

    assert retried - set(SENTENCES) == set()


def test_no_sentence_is_for_an_impossible_error() -> None:
    assert {code for code in SENTENCES if "." not in code} - codes() == {NOT_REGISTERED, PASSWORD_NOT_SET}


@each("limit", ["Default", "MaxValue"])
def test_rows_of_one_map_fit_the_state_data(limit: str) -> None:
    rows = LARGEST_PARAMETER[limit]
    pointer = str(RowPointer(rows, rows * MAX_ROW, MAX_ROW, rows))
    outcomes = [Outcome(rows, PASSWORD_NOT_SET, "0" * 36), *(Outcome(rows, code) for code in SENTENCES)]
    outcome = max(map(str, outcomes), key=len)
    # A row that keeps its result needs less than one that runs.
    assert len(str(Kept(rows, rows))) < len(pointer)

    assert rows * (len(json.dumps(pointer)) + len(json.dumps(outcome)) + 2) + OTHER_BYTES <= MAX_BYTES


def test_file_with_only_failed_rows_fits_the_history() -> None:
    rows = LARGEST_PARAMETER["Default"]
    left = MAX_EVENTS - OTHER_EVENTS - rows * EVENTS_OF_A_FAILED_ROW

    assert left / EVENTS_OF_A_RETRY > 600


def test_longest_import_fits_the_machine_timeout() -> None:
    seconds = LARGEST_PARAMETER["MaxValue"] / USERS_PER_SECOND

    assert seconds * MARGIN < IMPORT.definition["TimeoutSeconds"]
    assert 1 < MAP["MaxConcurrency"] <= 40


@each("function", ["UserCreateFunction", "CountCsvFilesFunction"])
def test_slow_connect_call_ends_before_the_function(function: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AWS_DEFAULT_REGION", "us-east-1")
    config = single_try_client.__wrapped__("connect").meta.config
    seconds = FUNCTIONS[function].properties["Timeout"]
    left = time.monotonic() + seconds - backoff_until(Context(seconds))

    assert config.connect_timeout + config.read_timeout < left < seconds / 2


BUCKET: dict[str, Any] = of_type("AWS::S3::Bucket")["UsersBucket"]


def test_passwords_do_not_stay_in_the_bucket() -> None:
    rules = {rule["Id"]: rule for rule in BUCKET["LifecycleConfiguration"]["Rules"]}
    days = {"Ref": "UserFileLifetimeDays"}

    assert rules["Uploads"]["ExpirationInDays"] == days
    assert rules["Uploads"]["Prefix"] == {"Ref": "UserFilePrefix"}
    assert rules["UploadsByCommand"]["ExpirationInDays"] == days
    # An expired file becomes a noncurrent version.
    assert rules["OldVersions"]["NoncurrentVersionExpiration"] == {"NoncurrentDays": 1}
    assert TEMPLATE["Parameters"]["UserFileLifetimeDays"]["Default"] <= 7


def test_results_do_not_expire_with_the_user_files() -> None:
    pattern = TEMPLATE["Parameters"]["UserFilePrefix"]["AllowedPattern"]
    name = "UserCreateResult_"
    beginnings = [name[:length] for length in range(1, len(name) + 1)]

    assert [prefix for prefix in [*beginnings, f"{name}x"] if re.match(pattern, prefix)] == []
    assert all(re.match(pattern, prefix) for prefix in ("TestFile_", "Users", "UserFile_", "UserCreateResults", "U-"))


def test_policy_deletes_only_tagged_instances_and_only_with_allow_reset() -> None:
    ((role, guarded),) = allowing("connect:DeleteInstance")
    condition, statement, _ = guarded["Fn::If"]

    assert (role, condition) == ("InitializeRole", "MayReset")
    assert TEMPLATE["Conditions"][condition] == {"Fn::Equals": [{"Ref": "AllowReset"}, "true"]}
    assert TEMPLATE["Parameters"]["AllowReset"]["Default"] == "false"
    # Initialize may not touch a directory, either.
    assert [one for one in granted(role, Stack()) if one.action.startswith(("connect:", "ds:"))] == []
    assert statement["Condition"] == {"StringEquals": {"aws:ResourceTag/stepwise-stack": {"Ref": "AWS::StackName"}}}


@each("function", ["Initialize", "CheckInstanceExistence", "CountCsvFiles", "UserCreate"])
def test_role_reaches_only_the_listed_instances(function: str) -> None:
    listed = [f"arn:aws:connect:us-east-1:000000000000:instance/{name}" for name in ("a", "b")]
    grants = granted(f"{function}Role", Stack(parameters={"ConnectInstanceArns": ",".join(listed)}))

    assert {one.resource for one in grants if one.action.startswith("connect:")} == {f"{arn}*" for arn in listed}


def test_only_a_new_instance_can_get_the_stack_tag() -> None:
    tagging = dict(allowing("connect:TagResource"))

    assert set(tagging) == {"CreateInstanceRole", "UserCreateRole"}
    assert tagging["CreateInstanceRole"]["Condition"] == {
        "StringEquals": {"aws:RequestTag/stepwise-stack": {"Ref": "AWS::StackName"}}
    }
    assert tagging["UserCreateRole"]["Condition"] == {
        "ForAllValues:StringEquals": {"aws:TagKeys": [ROW_TAG]},
        "Null": {"aws:TagKeys": "false"},
    }


def allowing(action: str) -> list[tuple[str, Any]]:
    """The roles with this action, and the statements that allow it, including conditional ones."""
    return [
        (role, statement)
        for role, properties in of_type("AWS::IAM::Role").items()
        for policy in properties["Policies"]
        for statement in policy["PolicyDocument"]["Statement"]
        if f"'{action}'" in str(statement)
    ]


READERS = ["InitializeRole", "CountCsvFilesRole", "UserCreateRole"]
FILES_OF_USERS = [
    "TestFile_20261121.csv",
    "manual/a/TestFile_20261121.csv",
    "manual/UserCreateResult_20261121/TestFile_20261121.csv",
]
RESULTS = [
    str(ResultKey(folder, "20261121", validate_only, import_id))
    for folder in ("", "manual/a/")
    for validate_only in (False, True)
    for import_id in ("", "manual-1")
]


def test_only_the_import_reads_user_files() -> None:
    ((statement,),) = (
        [one for one in body["PolicyDocument"]["Statement"] if one["Sid"] == "PasswordsForTheImportAlone"]
        for body in of_type("AWS::S3::BucketPolicy").values()
        if body["Bucket"] == {"Ref": "UsersBucket"}
    )
    spared = [Stack().resolve(pattern).partition("/")[2] for pattern in statement["NotResource"]]
    whole = {"Fn::Sub": "${UsersBucket.Arn}/*"}
    reading = {role for role in of_type("AWS::IAM::Role") if whole in allowed(role, "s3:GetObjectVersion")}

    assert (statement["Effect"], statement["Principal"]) == ("Deny", "*")
    assert {"s3:GetObject", "s3:GetObjectVersion"} <= set(statement["Action"])
    assert statement["Condition"] == {
        "ArnNotEquals": {"aws:PrincipalArn": [{"Fn::GetAtt": [role, "Arn"]} for role in READERS]}
    }
    assert reading == set(READERS)
    assert [key for key in FILES_OF_USERS if any(fnmatchcase(key, pattern) for pattern in spared)] == []
    assert all(any(fnmatchcase(key, pattern) for pattern in spared) for key in RESULTS)
