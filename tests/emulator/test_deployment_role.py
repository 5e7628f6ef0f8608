"""The deployment role: a missing permission fails with AWS's error message, and nothing is left behind.

tests/integration/test_deployment_guide.py deploys and deletes the application with deployment/role.yaml.
"""

import copy
import json
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import boto3
import pytest
from botocore.exceptions import ClientError, WaiterError

from stepwise.deployment.stages import deployed
from stepwise.deployment.templates import load
from stepwise.local import deployment
from stepwise.local.emulator import emulator
from stepwise.local.emulator.emulator import REGION, LocalStackError
from tests.emulator.test_first_deployment import Application, application
from tests.kit.injection import eventually
from tests.kit.ministack import Account, still_there
from tests.kit.project import ROOT

pytestmark = pytest.mark.local_only("are about stacks of their own, which fail")

ROLE = load(ROOT / "deployment" / "role.yaml")
NAME = "stepwise-dev"
TOPIC = json.dumps({"Resources": {"Topic": {"Type": "AWS::SNS::Topic"}}})
DENIED = "assumed-role/{}/AWSCloudFormation is not authorized to perform: {} on resource: "


@pytest.fixture
def root(ours: Account) -> Application:
    return application(ours)


@pytest.fixture
def empty() -> Iterator[Account]:
    """Start an emulator without stacks or tables."""
    with emulator.attached() as started:
        yield Account(started.endpoint)


def role_without(account: Account, name: str, action: str) -> str:
    """Create a role that may do everything but one action. Returns its ARN."""
    statements = [
        {"Effect": effect, "Action": one, "Resource": "*"} for effect, one in (("Allow", "*"), ("Deny", action))
    ]
    arn = account.role(name)
    account.client("iam").put_role_policy(
        RoleName=name, PolicyName="all", PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": statements})
    )
    return arn


def role_of(account: Account, *, without: str = "") -> dict[str, str]:
    """Deploy role.yaml for the application, without one action if given. Returns its outputs."""
    template, name = copy.deepcopy(ROLE), f"deploy-{NAME}"
    for policy in ("CodePolicy", "DataPolicy", "WatchPolicy"):
        for one in template["Resources"][policy]["Properties"]["PolicyDocument"]["Statement"]:
            if isinstance(one.get("Action"), list) and without in one["Action"]:
                one["Action"].remove(without)
    client = account.client("cloudformation")
    given = [{"ParameterKey": "RootStackName", "ParameterValue": NAME}]
    named = ["CAPABILITY_NAMED_IAM"]
    client.create_stack(StackName=name, TemplateBody=json.dumps(template), Parameters=given, Capabilities=named)
    client.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
    found = deployed(client, name)
    assert found
    return dict(found.outputs)


def key_of_caller(account: Account, policy: str) -> dict[str, str]:
    """Create a user with a managed policy. Returns its access key as environment variables."""
    iam, name = account.client("iam"), f"caller-{uuid.uuid4().hex[:8]}"
    iam.create_user(UserName=name)
    iam.attach_user_policy(UserName=name, PolicyArn=policy)
    key = iam.create_access_key(UserName=name)["AccessKey"]
    return {"AWS_ACCESS_KEY_ID": key["AccessKeyId"], "AWS_SECRET_ACCESS_KEY": key["SecretAccessKey"]}


def cloudformation_of_caller(account: Account, action: str, resource: str = "*") -> Any:
    """Return a CloudFormation client of a user who may do only this action."""
    return client_of_caller(account, "cloudformation", action, resource)


def client_of_caller(account: Account, service: str, action: str, resource: str) -> Any:
    """Return a client of a user who may do only this action."""
    statement = {"Effect": "Allow", "Action": action, "Resource": resource}
    policy = account.client("iam").create_policy(
        PolicyName=f"may-{uuid.uuid4().hex[:8]}",
        PolicyDocument=json.dumps({"Version": "2012-10-17", "Statement": [statement]}),
    )["Policy"]["Arn"]
    key = key_of_caller(account, policy)
    session = boto3.Session(key["AWS_ACCESS_KEY_ID"], key["AWS_SECRET_ACCESS_KEY"], region_name=REGION)
    return session.client(service, endpoint_url=account.endpoint)


def left(account: Account) -> set[str]:
    """Return the kinds of the application's resources that still exist."""
    client = account.client
    stacks = client("cloudformation").list_stacks()["StackSummaries"]
    found = {
        "stacks": [one["StackName"] for one in stacks if one["StackStatus"] != "DELETE_COMPLETE"],
        "tables": client("dynamodb").list_tables()["TableNames"],
        "buckets": [one["Name"] for one in client("s3").list_buckets()["Buckets"]],
        "functions": [one["FunctionName"] for one in client("lambda").list_functions()["Functions"]],
        "logs": [
            one["logGroupName"].rpartition("/aws/lambda/")[2]
            for one in client("logs").describe_log_groups()["logGroups"]
        ],
    }
    return {kind for kind, names in found.items() if any(name.startswith(NAME) for name in names)}


def test_ministack_still_ignores_the_role_of_a_stack(upstream: Account) -> None:
    client, role = upstream.client("cloudformation"), upstream.role("may-nothing")

    client.create_stack(StackName="with-a-role", TemplateBody=TOPIC, RoleARN=role)

    try:
        client.get_waiter("stack_create_complete").wait(StackName="with-a-role", WaiterConfig={"Delay": 1})
    except WaiterError as error:
        raise AssertionError(still_there("deployment_role", "a role without permissions creates a topic")) from error


@pytest.mark.parametrize("action", ["cloudformation:CreateStack", "dynamodb:CreateTable", "lambda:PublishLayerVersion"])
def test_resource_is_not_created_without_the_permission(root: Application, action: str) -> None:
    root.begin(failing=False, RoleARN=role_without(root.account, root.name, action))

    assert root.status() == "ROLLBACK_COMPLETE"
    assert root.left() == {"stacks": [root.name]}
    failures = deployment.failures(root.account.client("cloudformation"), root.name)
    assert any(DENIED.format(root.name, action) in failure.reason for failure in failures)


def test_resource_is_not_deleted_without_the_permission(root: Application) -> None:
    client = root.account.client("cloudformation")
    root.begin(failing=False, RoleARN=role_without(root.account, root.name, "logs:DeleteLogGroup"))
    assert root.status() == "CREATE_COMPLETE"

    client.delete_stack(StackName=root.name)

    assert root.status() == "DELETE_FAILED"
    assert root.left()["logs"] == [f"{root.name}/logs"]


def test_resource_is_not_updated_without_the_permission(ours: Account) -> None:
    client, name = ours.client("cloudformation"), "updated-with-a-role"
    role = role_without(ours, name, "logs:DeleteRetentionPolicy")
    logs: dict[str, Any] = {"Type": "AWS::Logs::LogGroup", "Properties": {"LogGroupName": name}}
    client.create_stack(StackName=name, TemplateBody=json.dumps({"Resources": {"Logs": logs}}), RoleARN=role)
    client.get_waiter("stack_create_complete").wait(StackName=name, WaiterConfig={"Delay": 1})
    logs["Properties"]["RetentionInDays"] = 7

    client.update_stack(StackName=name, TemplateBody=json.dumps({"Resources": {"Logs": logs}}))

    eventually(lambda: client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] == "UPDATE_ROLLBACK_COMPLETE")
    (failure,) = deployment.failures(client, name)
    assert DENIED.format(name, "logs:DeleteRetentionPolicy") in failure.reason


def change_set_of_a_caller(account: Account) -> str:
    """Create and delete a change set by its ARN, as a user who may access only its stack. Returns its status."""
    name = f"stack-{uuid.uuid4().hex[:8]}"
    client = cloudformation_of_caller(account, "cloudformation:*", f"arn:aws:cloudformation:*:*:stack/{name}/*")
    arn = client.create_change_set(StackName=name, ChangeSetName="c", ChangeSetType="CREATE", TemplateBody=TOPIC)["Id"]
    status = client.describe_change_set(ChangeSetName=arn)["Status"]
    client.delete_change_set(ChangeSetName=arn)
    return str(status)


def test_change_set_needs_the_permission_on_its_stack(ours: Account) -> None:
    assert change_set_of_a_caller(ours) == "CREATE_COMPLETE"


def test_ministack_still_ignores_the_resource_of_a_change_set(upstream: Account) -> None:
    # If this fails, remove point 3 from patches/deployment_role.py.
    with pytest.raises(ClientError, match="DescribeChangeSet"):
        change_set_of_a_caller(upstream)


def parameters_of_a_caller(account: Account, root: str) -> Any:
    """Get parameters as a user who may only get those below /mine."""
    client = client_of_caller(account, "ssm", "ssm:GetParametersByPath", "arn:aws:ssm:*:*:parameter/mine/*")
    return client.get_parameters_by_path(Path=root)["Parameters"]


def test_parameters_of_a_path_need_the_permission_on_that_path(ours: Account) -> None:
    assert parameters_of_a_caller(ours, "/mine/webhooks") == []
    with pytest.raises(ClientError, match="AccessDenied"):
        parameters_of_a_caller(ours, "/others/webhooks")


def test_ministack_still_ignores_the_path_of_parameters(upstream: Account) -> None:
    # If this fails, remove parameters from point 3 of patches/deployment_role.py.
    with pytest.raises(ClientError, match="AccessDenied"):
        parameters_of_a_caller(upstream, "/mine/webhooks")


def test_caller_may_not_pass_a_role_without_the_permission(ours: Account) -> None:
    client = cloudformation_of_caller(ours, "cloudformation:*")

    with pytest.raises(ClientError, match=r"AccessDenied.* is not authorized to perform: iam:PassRole on resource: "):
        client.create_stack(StackName="passes-a-role", TemplateBody=TOPIC, RoleARN=ours.role("passed"))


@pytest.mark.parametrize(("action", "status"), [("*", "CREATE_COMPLETE"), ("cloudformation:*", "ROLLBACK_COMPLETE")])
def test_stack_without_a_role_uses_the_permissions_of_its_caller(ours: Account, action: str, status: str) -> None:
    client, name = cloudformation_of_caller(ours, action), f"of-caller-{uuid.uuid4().hex[:8]}"

    client.create_stack(StackName=name, TemplateBody=TOPIC)

    eventually(lambda: client.describe_stacks(StackName=name)["Stacks"][0]["StackStatus"] == status)


def test_deployment_lacking_one_permission_names_it_and_leaves_nothing(empty: Account, tmp_path: Path) -> None:
    role = role_of(empty, without="logs:PutMetricFilter")["RoleArn"]

    with pytest.raises(LocalStackError, match=DENIED.format(f"deploy-{NAME}", "logs:PutMetricFilter")):
        deployment.deploy(empty.endpoint, tmp_path / "log", name=NAME, role=role)

    assert left(empty) == set()
