"""Rules for every Lambda function and its role."""

import importlib
import json
import re
import uuid
from collections.abc import Mapping
from typing import Any

from stepwise.deployment.templates import load
from tests.kit.deployed_stack import Stack
from tests.kit.each import each
from tests.kit.service_authorization import reference
from tests.kit.template import (
    FUNCTIONS,
    PATH,
    RESOURCES,
    TEMPLATE,
    Function,
    Statement,
    of_type,
    snake_case,
    statements,
)

ROLES = of_type("AWS::IAM::Role")
STATEMENTS = [statement for role in ROLES for statement in statements(role)]
MAX_ACTIONS = 4
# An execution's ARN ends with its name, which is the order's; an object's with its key; that of a Connect instance, and
# of its content, with an id that is unknown before its creation; that of Connect's own role with a suffix it chooses.
EXECUTION = r"arn:[^*]+:execution:(\$\{\w+\.Name\}|\$\{AWS::StackName\}-import-csv/import-csv):"
OBJECT = r"\$\{\w+Bucket\.Arn\}/[\w/]*"
RESULT = r"\$\{UsersBucket\.Arn\}/\*UserCreateResult_\*\.csv"
INSTANCE = r"arn:[^*]+:connect:[^*]+:instance/"
DIRECTORY = r"arn:[^*]+:ds:\$\{AWS::Region\}:\$\{AWS::AccountId\}:directory/"
CONNECTS_OWN_ROLE = r"arn:[^*]+:role/aws-service-role/connect\.amazonaws\.com/"
# A parameter's name ends with the subscription's id.
PARAMETER = r"arn:[^*]+:ssm:[^*]+:parameter/\$\{[\w:]+\}/webhooks/"
BOUNDED = re.compile(
    rf"\{{'Fn::Sub': '(({EXECUTION}|{OBJECT}|{INSTANCE}|{DIRECTORY}|{CONNECTS_OWN_ROLE}|{PARAMETER})\*|{RESULT})'\}}"
)
# The ARNs that an operator lists, with the resources in each instance.
LISTED_INSTANCES = {
    "Fn::Split": [
        ",",
        {"Fn::Join": ["", [{"Fn::Join": ["*,", {"Fn::Split": [",", {"Ref": "ConnectInstanceArns"}]}]}, "*"]]},
    ]
}
# The executions of the machines that wait for approvals.
WAITING_EXECUTIONS = {
    "Fn::Split": [",", load(PATH)["Resources"]["Approvals"]["Properties"]["Parameters"]["WaitingExecutionArns"]]
}
# Lambda reads these itself, and each has its own failure destination.
STREAMS = {"DynamoDB", "Kinesis", "SQS"}
ASYNCHRONOUS = [
    function
    for function in FUNCTIONS.values()
    if {event["Type"] for event in function.properties.get("Events", {}).values()} - STREAMS
]

# The longest root stack name that names are tested with, and the limits of physical names.
ROOT_STACK_NAME = "s" * 40
MAX_NAMES = {
    "AWS::Serverless::Function": 64,
    "AWS::S3::Bucket": 63,
    **dict.fromkeys(("AWS::SQS::Queue", "AWS::StepFunctions::StateMachine"), 80),
}

every_function = each("function", FUNCTIONS.values(), ids=FUNCTIONS)
every_statement = each("statement", STATEMENTS, ids=lambda statement: f"{statement.role}-{statement.actions[0]}")


def is_exact_table(resource: Any) -> bool:
    """Returns True for the ARN of one table, its stream, or one of its indexes."""
    match resource:
        case {"Fn::GetAtt": [str(table), "Arn" | "StreamArn"]}:
            return table in of_type("AWS::DynamoDB::Table")
        case {"Fn::Sub": str(text)}:
            index = re.fullmatch(r"\$\{(\w+)\.Arn\}/index/\w+", text)
            return index is not None and index[1] in of_type("AWS::DynamoDB::Table")
    return False


@every_function
def test_handler_exists(function: Function) -> None:
    assert callable(getattr(importlib.import_module(function.module), function.handler))


@every_function
def test_function_is_named_after_its_handler(function: Function) -> None:
    assert function.name == f"{function.state}Function"
    assert function.handler == snake_case(function.state)


@every_function
def test_function_is_described(function: Function) -> None:
    assert len(function.properties["Description"]) > len(function.name)
    assert " - " not in function.properties["Description"]


@every_function
def test_function_is_built_with_its_bytecode(function: Function) -> None:
    assert RESOURCES[function.name].get("Metadata") == {"BuildMethod": "makefile"}


@every_function
def test_function_has_its_own_role(function: Function) -> None:
    assert function.role == f"{function.state}Role"
    assert "Policies" not in function.properties


@every_function
def test_function_logs_to_its_own_group(function: Function) -> None:
    assert function.log_group == f"{function.state}LogGroup"
    assert function.log_group in of_type("AWS::Logs::LogGroup")


class Longest(Stack):
    """Return the stack with the longest Region, partition and parameter values."""

    def name(self, logical_id: str) -> str:
        nested = f"{ROOT_STACK_NAME}-AccountOpening-{'X' * 13}"
        return f"{nested}-{logical_id}-{'X' * 13}"[: MAX_NAMES.get(RESOURCES[logical_id]["Type"], 255)]

    def resolve(self, value: Any) -> Any:
        found = super().resolve(value)
        if isinstance(found, str):
            found = found.replace("arn:aws:", "arn:aws-us-gov:").replace(":us-east-1:", ":ap-southeast-1:")
        return found


def longest(parameter: Mapping[str, Any]) -> str:
    """Return the longest value of a parameter. Raises KeyError if nothing limits it."""
    if "AllowedValues" in parameter:
        return max(map(str, parameter["AllowedValues"]), key=len)
    return str(parameter["MaxValue"]) if parameter["Type"] == "Number" else "x" * parameter["MaxLength"]


@every_function
def test_longest_environment_fits_lambdas_limit(function: Function) -> None:
    """Lambda measures the variables as JSON."""
    variables = {
        **TEMPLATE["Globals"]["Function"]["Environment"]["Variables"],
        **function.properties.get("Environment", {}).get("Variables", {}),
    }
    named = {name for name in TEMPLATE["Parameters"] if f"'Ref': '{name}'" in str(variables)}
    given = {name: longest(TEMPLATE["Parameters"][name]) for name in named} | {
        "AWS::StackName": ROOT_STACK_NAME,
        "AWS::StackId": f"arn:aws:cloudformation:us-east-1:000000000000:stack/{ROOT_STACK_NAME}/{uuid.uuid4()}",
    }
    measured = Longest(parameters=given).resolve(variables)

    assert len(json.dumps({name: str(value) for name, value in measured.items()}, separators=(",", ":"))) <= 4096


@each("function", ASYNCHRONOUS, ids=lambda function: function.name)
def test_failed_asynchronous_events_are_kept_or_retried(function: Function) -> None:
    settings = function.properties["EventInvokeConfig"]
    comes_again = {event["Type"] for event in function.properties["Events"].values()} == {"Schedule"}

    assert "OnFailure" in settings.get("DestinationConfig", {}) or comes_again


@every_statement
def test_statement_allows_a_few_named_actions_of_one_service(statement: Statement) -> None:
    assert len(statement.services) == 1
    assert not any("*" in action for action in statement.actions)
    assert len(statement.actions) <= MAX_ACTIONS or statement.resources == ("*",)


@every_statement
def test_only_actions_without_resource_types_use_a_wildcard(statement: Statement) -> None:
    wide = (one for one in statement.resources if "*" in str(one))
    bounded = (one in (LISTED_INSTANCES, WAITING_EXECUTIONS) or BOUNDED.fullmatch(str(one)) for one in wide)

    assert all(bounded) or not any(reference()[action].knows_resources for action in statement.actions)


def test_reference_has_every_granted_action() -> None:
    assert {action for one in STATEMENTS for action in one.actions} - set(reference()) == set(), "run 'make actions'"


@every_statement
def test_table_statement_names_each_table(statement: Statement) -> None:
    of_tables = statement.services == {"dynamodb"} and statement.actions != ("dynamodb:ListStreams",)
    assert not of_tables or all(map(is_exact_table, statement.resources))
