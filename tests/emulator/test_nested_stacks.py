"""Nested stacks: features missing in MiniStack that the patch `nested_stacks` adds. An update keeps names and state."""

import copy
import json
import uuid
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from stepwise.local.deployment import resources
from tests.kit.bounded import Threads
from tests.kit.deployed_stack import Stack
from tests.kit.injection import eventually
from tests.kit.ministack import Account, still_there
from tests.kit.template import RESOURCES as DEPLOYED

pytestmark = pytest.mark.local_only("are about the local stack itself")

# SAM generates a table from this.
TABLE = {"Type": "AWS::Serverless::SimpleTable"}
QUEUE = {"Type": "AWS::SQS::Queue", "Properties": {"DelaySeconds": 1}}
TOPIC = {"Type": "AWS::SNS::Topic", "Properties": {"DisplayName": {"Ref": "Name"}}}
SAM = "AWS::Serverless-2016-10-31"

# Types that SAM generates from its own.
TRANSFORMED = {
    "AWS::Serverless::Function": "AWS::Lambda::Function",
    "AWS::Serverless::LayerVersion": "AWS::Lambda::LayerVersion",
}
# AWS replaces these on every change.
REPLACED = {"AWS::Lambda::LayerVersion", "AWS::Lambda::Permission"}

RETURN = "def handler(event, context):\n    return 'after'\n"
WAIT = """
import os
import time

def handler(event, context):
    open(os.path.join(event, "started"), "w").close()
    while not os.path.exists(os.path.join(event, "released")):
        time.sleep(0.05)
    return "before"
"""


def _ref(name: str) -> dict[str, str]:
    return {"Ref": name}


def _arn(name: str) -> dict[str, list[str]]:
    return {"Fn::GetAtt": [name, "Arn"]}


def _policy(**statement: Any) -> dict[str, Any]:
    return {"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*", **statement}]}


def _asking(after: str) -> str:
    """A machine that waits for a callback, and then returns a value."""
    parameters = {"QueueUrl": "${Queue}", "MessageBody": {"token.$": "$$.Task.Token"}}
    ask = {"Type": "Task", "Resource": "arn:aws:states:::sqs:sendMessage.waitForTaskToken", "Parameters": parameters}
    then = {"Type": "Pass", "Result": after, "End": True}
    return json.dumps({"StartAt": "Ask", "States": {"Ask": {**ask, "Next": "Return"}, "Return": then}})


# Type, properties, and properties that AWS changes without replacement. The bucket is the first that is created.
KINDS: dict[str, tuple[str, dict[str, Any], dict[str, Any]]] = {
    "Bucket": ("AWS::S3::Bucket", {}, {"Tags": [{"Key": "changed", "Value": "1"}]}),
    "BucketPolicy": (
        "AWS::S3::BucketPolicy",
        {"Bucket": _ref("Bucket"), "PolicyDocument": _policy(Action="s3:GetObject", Resource="*")},
        {"PolicyDocument": _policy(Action="s3:PutObject", Resource="*")},
    ),
    "Queue": ("AWS::SQS::Queue", {}, {"MaximumMessageSize": 65536}),
    "QueuePolicy": (
        "AWS::SQS::QueuePolicy",
        {"Queues": [_ref("Queue")], "PolicyDocument": _policy(Action="sqs:SendMessage", Resource="*")},
        {"PolicyDocument": _policy(Action="sqs:*", Resource="*")},
    ),
    "Role": (
        "AWS::IAM::Role",
        {
            "AssumeRolePolicyDocument": _policy(Action="sts:AssumeRole"),
            "Policies": [{"PolicyName": "All", "PolicyDocument": {"Statement": [
                {"Effect": "Allow", "Action": "*", "Resource": "*"}]}}],
        },
        {"Description": "changed"},
    ),
    "Machine": (
        "AWS::StepFunctions::StateMachine",
        {"RoleArn": _arn("Role"), "DefinitionString": {"Fn::Sub": _asking("before")}},
        {"DefinitionString": {"Fn::Sub": _asking("after")}},
    ),
    "Function": (
        "AWS::Lambda::Function",
        {"Role": _arn("Role"), "Runtime": "python3.13", "Handler": "index.handler", "Timeout": 60,
         "Code": {"ZipFile": WAIT}},
        {"Code": {"ZipFile": RETURN}, "MemorySize": 512, "Environment": {"Variables": {"CHANGED": "1"}}},
    ),
    "Version": ("AWS::Lambda::Version", {"FunctionName": _ref("Function")}, {}),
    "Alias": (
        "AWS::Lambda::Alias",
        {"FunctionName": _ref("Function"), "FunctionVersion": {"Fn::GetAtt": ["Version", "Version"]}, "Name": "live"},
        {"Description": "changed"},
    ),
    "Invocations": (
        "AWS::Lambda::EventInvokeConfig",
        {"FunctionName": _ref("Function"), "Qualifier": "$LATEST"},
        {"MaximumRetryAttempts": 1},
    ),
    "Work": ("AWS::SQS::Queue", {}, {}),
    "Mapping": (
        "AWS::Lambda::EventSourceMapping",
        {"FunctionName": _ref("Function"), "EventSourceArn": _arn("Work"), "Enabled": False},
        {"BatchSize": 5},
    ),
    "Rule": ("AWS::Events::Rule", {"ScheduleExpression": "rate(1 day)"}, {"Description": "changed"}),
    "Logs": ("AWS::Logs::LogGroup", {}, {"RetentionInDays": 7}),
    "Filter": (
        "AWS::Logs::MetricFilter",
        {"LogGroupName": _ref("Logs"), "FilterPattern": "a",
         "MetricTransformations": [{"MetricName": "A", "MetricNamespace": "B", "MetricValue": "1"}]},
        {"FilterPattern": "b"},
    ),
    "Table": (
        "AWS::DynamoDB::Table",
        {
            "BillingMode": "PAY_PER_REQUEST",
            "AttributeDefinitions": [{"AttributeName": "pk", "AttributeType": "S"}],
            "KeySchema": [{"AttributeName": "pk", "KeyType": "HASH"}],
        },
        {"StreamSpecification": {"StreamViewType": "NEW_IMAGE"}},
    ),
    "Topic": ("AWS::SNS::Topic", {}, {"DisplayName": "changed"}),
    "Subscription": (
        "AWS::SNS::Subscription",
        {"TopicArn": _ref("Topic"), "Protocol": "sqs", "Endpoint": _arn("Work")},
        {"RawMessageDelivery": True},
    ),
    "Secret": (
        "AWS::SecretsManager::Secret",
        {"GenerateSecretString": {"PasswordLength": 32}},
        {"Description": "changed"},
    ),
    "Key": ("AWS::KMS::Key", {"KeyPolicy": _policy(Action="kms:*", Resource="*")}, {"Description": "changed"}),
    "Alarm": (
        "AWS::CloudWatch::Alarm",
        {"Namespace": "A", "MetricName": "B", "Statistic": "Sum", "Period": 60, "EvaluationPeriods": 1,
         "Threshold": 1, "ComparisonOperator": "GreaterThanThreshold"},
        {"Threshold": 2},
    ),
    "Dashboard": ("AWS::CloudWatch::Dashboard", {"DashboardBody": "{}"}, {"DashboardBody": '{"widgets": []}'}),
    "Api": ("AWS::ApiGatewayV2::Api", {"Name": "api", "ProtocolType": "HTTP"}, {"Description": "changed"}),
    "Stage": ("AWS::ApiGatewayV2::Stage", {"ApiId": _ref("Api"), "StageName": "$default"}, {"AutoDeploy": True}),
}  # fmt: skip


@dataclass(frozen=True)
class Application:
    """A root with one stack below it."""

    account: Account
    name: str

    def deploy(self, child: dict[str, Any], *, update: bool = False) -> str:
        """Create or update the stacks. Returns the root stack's status."""
        s3, key = self.account.client("s3"), uuid.uuid4().hex
        s3.put_object(Bucket=self.name, Key=key, Body=json.dumps(child))
        below = {"TemplateURL": f"{self.account.endpoint}/{self.name}/{key}", "Parameters": {"Name": key}}
        root = {
            "Resources": {"Below": {"Type": "AWS::CloudFormation::Stack", "Properties": below}},
            "Outputs": {"Given": {"Value": {"Fn::GetAtt": ["Below", "Outputs.Given"]}}},
        }
        client = self.account.client("cloudformation")
        change = client.update_stack if update else client.create_stack
        change(
            StackName=self.name,
            TemplateBody=json.dumps(root),
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        eventually(lambda: not self.stack["StackStatus"].endswith("IN_PROGRESS"))
        return str(self.stack["StackStatus"])

    @property
    def stack(self) -> Any:
        (stack,) = self.account.client("cloudformation").describe_stacks(StackName=self.name)["Stacks"]
        return stack

    @property
    def given(self) -> str:
        """The output of the nested stack."""
        (output,) = self.stack["Outputs"]
        return str(output["OutputValue"])

    @property
    def names(self) -> dict[str, str]:
        """Physical ids of the nested resources, by logical id."""
        found = resources(self.account.client("cloudformation"), self.name)
        return {resource["LogicalResourceId"]: resource["PhysicalResourceId"] for resource in found}


def application(account: Account) -> Application:
    name = f"nested-{uuid.uuid4().hex[:12]}"
    account.client("s3").create_bucket(Bucket=name)
    return Application(account, name)


def child(resources: dict[str, Any], given: Any, **more: Any) -> dict[str, Any]:
    parameters = {"Name": {"Type": "String"}}
    return {**more, "Parameters": parameters, "Resources": resources, "Outputs": {"Given": {"Value": given}}}


SERVERLESS = child({"Table": TABLE}, {"Ref": "Table"}, Transform=SAM)
UNCHANGED = child({"Queue": QUEUE, "Topic": TOPIC}, {"Fn::GetAtt": ["Queue", "QueueName"]})


def every_kind(*, changed: bool) -> dict[str, Any]:
    def resource(name: str) -> dict[str, Any]:
        kind, properties, change = KINDS[name]
        after = {"DependsOn": "Bucket"} if name != "Bucket" else {}
        return {"Type": kind, "Properties": {**properties, **(change if changed else {})}, **after}

    return child({name: copy.deepcopy(resource(name)) for name in KINDS}, _ref("Machine"))


# --- MiniStack as it comes ---


def test_ministack_still_skips_the_transform_of_a_nested_stack(upstream: Account) -> None:
    root = application(upstream)

    root.deploy(SERVERLESS)

    assert not _tables(upstream, root), still_there("nested_stacks", "a nested stack's transforms")


def test_ministack_still_loses_attributes_of_resources_an_update_skips(upstream: Account) -> None:
    root = application(upstream)
    assert root.deploy(UNCHANGED) == "CREATE_COMPLETE"

    assert root.deploy(UNCHANGED, update=True) != "UPDATE_COMPLETE", still_there(
        "nested_stacks", "attributes of a nested stack's resources"
    )


def test_ministack_still_replaces_resources_created_after_a_bucket(upstream: Account) -> None:
    root = application(upstream)
    root.deploy(every_kind(changed=False))
    before = root.names

    root.deploy(every_kind(changed=True), update=True)

    assert root.names["Machine"] != before["Machine"], still_there("nested_stacks", "names in a nested stack")


# --- ours ---


def test_nested_stack_transform_runs(ours: Account) -> None:
    root = application(ours)

    assert root.deploy(SERVERLESS) == "CREATE_COMPLETE"
    assert _tables(ours, root) == [root.given]


def test_resource_skipped_by_an_update_keeps_its_attributes(ours: Account) -> None:
    root = application(ours)
    root.deploy(UNCHANGED)
    before = root.given

    assert root.deploy(UNCHANGED, update=True) == "UPDATE_COMPLETE"
    assert root.given == before


def test_update_keeps_names_and_state(ours: Account, tmp_path: Path) -> None:
    """Rows, messages and objects stay. An execution and a call in flight end as they started."""
    root = application(ours)
    assert root.deploy(every_kind(changed=False)) == "CREATE_COMPLETE"
    before = root.names
    sqs, s3, tables, states = (ours.client(name) for name in ("sqs", "s3", "dynamodb", "stepfunctions"))
    sqs.send_message(QueueUrl=before["Work"], MessageBody="kept")
    s3.put_object(Bucket=before["Bucket"], Key="kept", Body=b"kept")
    tables.put_item(TableName=before["Table"], Item={"pk": {"S": "kept"}})
    secret = _secret(ours, before["Secret"])
    execution = states.start_execution(stateMachineArn=before["Machine"])["executionArn"]

    with Threads(1) as pool:
        call = pool.submit(_invoke, ours, before["Function"], tmp_path)
        eventually((tmp_path / "started").exists)
        assert root.deploy(every_kind(changed=True), update=True) == "UPDATE_COMPLETE"
        assert _invoke(ours, before["Function"], tmp_path) == "after"
        (tmp_path / "released").touch()
        assert call.result() == "before"

    assert root.names == before
    assert _invoke(ours, before["Alias"], tmp_path) == "before"
    assert sqs.receive_message(QueueUrl=before["Work"])["Messages"][0]["Body"] == "kept"
    assert s3.get_object(Bucket=before["Bucket"], Key="kept")["Body"].read() == b"kept"
    assert "Item" in tables.get_item(TableName=before["Table"], Key={"pk": {"S": "kept"}})
    assert _secret(ours, before["Secret"]) == secret
    (message,) = sqs.receive_message(QueueUrl=before["Queue"])["Messages"]
    states.send_task_success(taskToken=json.loads(message["Body"])["token"], output="{}")
    assert json.loads(ours.ended(execution)["output"]) == "before"
    (listed,) = states.list_executions(stateMachineArn=before["Machine"])["executions"]
    assert listed["executionArn"] == execution


def test_machine_has_the_given_key_until_it_is_deployed_without_one(ours: Account) -> None:
    key = ours.client("kms").create_key()["KeyMetadata"]["Arn"]
    root = application(ours)

    def encryption(update: bool, **given: str) -> Any:
        configured = Stack(parameters=given).resolve(DEPLOYED["OrderSaga"]["Properties"]["EncryptionConfiguration"])
        resources = {
            name: {"Type": KINDS[name][0], "Properties": dict(KINDS[name][1])} for name in ("Queue", "Role", "Machine")
        }
        resources["Machine"]["Properties"]["EncryptionConfiguration"] = configured
        assert root.deploy(child(resources, _ref("Machine")), update=update).endswith("E_COMPLETE")
        return ours.client("stepfunctions").describe_state_machine(stateMachineArn=root.given)[
            "encryptionConfiguration"
        ]

    assert encryption(False, StateMachineKeyArn=key) == {
        "type": "CUSTOMER_MANAGED_KMS_KEY",
        "kmsKeyId": key,
        "kmsDataKeyReusePeriodSeconds": 300,
    }
    assert encryption(True) == {"type": "AWS_OWNED_KEY"}


def test_every_type_in_the_templates_can_be_updated() -> None:
    deployed = {TRANSFORMED.get(body["Type"], body["Type"]) for body in DEPLOYED.values()}
    assert deployed - REPLACED <= {kind for kind, *_ in KINDS.values()}


def _invoke(account: Account, function: str, folder: Path) -> Any:
    """The result, or the error, of a synchronous call."""
    response = account.client("lambda").invoke(FunctionName=function, Payload=json.dumps(str(folder)))
    return json.loads(response["Payload"].read())


def _secret(account: Account, name: str) -> Any:
    return account.client("secretsmanager").get_secret_value(SecretId=name)["SecretString"]


def _tables(account: Account, root: Application) -> list[str]:
    return [name for name in account.client("dynamodb").list_tables()["TableNames"] if name.startswith(root.name)]
